import type {Part} from '../content.ts';

/** A call as the rest of the run takes it, whatever the server has sent: without a name it would count as a piece of the one before it. */
export function wholeCall({functionCall: {id, name, ...call} = {}, ...part}: Part): Part {
  return {...part, functionCall: {...call, name: name ?? '', ...(typeof id === 'string' && {id})}};
}
