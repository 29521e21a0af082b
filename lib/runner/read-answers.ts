import type {BaseAgent} from '../agents/base-agent.ts';
import type {Answers} from '../answers/answers.ts';
import type {Content} from '../content.ts';
import type {Event} from '../events/event.ts';

/** What a message answers, if it does. Most answer nothing, and programs without such messages need not load how it is read. */
export async function readAnswers(events: readonly Event[], message: Content, root: BaseAgent): Promise<Answers<BaseAgent> | undefined> {
  if (!message.parts?.some((part) => part.functionResponse)) return undefined;
  const {answersOf} = await import('sluice/answers');
  return answersOf(events, message, root);
}
