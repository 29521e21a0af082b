// Reads 50 MB through one run, and prints how much of it came and how many of its pieces were still alive at the end of the stream. The
// heap is what the parent allows.
import {BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, type LlmResponse} from 'sluice';
import {Gemini} from 'sluice/gemini';

const [what, url = ''] = process.argv.slice(2);
let living = 0;
const PIECE = 1_000;
const BYTES = 50_000_000;
const gc = (globalThis as {gc?: () => void}).gc!;
/** Every hundredth piece, as an object that whoever keeps pieces would hold. */
const samples: WeakRef<object>[] = [];

const piece = (n: number): string => `${n} `.padEnd(PIECE, 'x');

/** Remembers some of the objects that went by, without holding them. */
function sample<T extends object>(n: number, object: T): T {
  if (n % 100 === 0) samples.push(new WeakRef(object));
  return object;
}

async function alive(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve));
  gc();
  return samples.filter((ref) => ref.deref()).length;
}

/** Calls the tool, then answers. */
class Caller extends BaseLlm {
  async *generateContentAsync({contents}: {contents: readonly object[]}): AsyncGenerator<LlmResponse, void, undefined> {
    const part = contents.length === 1 ? {functionCall: {name: 'report', args: {}}} : {text: 'done'};
    yield {content: {role: 'model', parts: [part]}, finishReason: 'STOP'};
  }
}

/** Answers with 50 MB, as a model whose deltas are short. */
class Talker extends BaseLlm {
  async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {
    let whole = '';
    for (let n = 0; n < BYTES / PIECE; n++) {
      const text = piece(n);
      whole += text;
      yield sample(n, {content: {role: 'model', parts: [{text}]}, partial: true});
    }
    living = await alive();
    yield {content: {role: 'model', parts: [{text: whole}]}, finishReason: 'STOP'};
  }
}

const report = new FunctionTool({
  name: 'report',
  description: 'Reports 50 MB of progress.',
  timeoutMs: Infinity,
  async *execute() {
    for (let n = 0; n < BYTES / PIECE; n++) yield sample(n, {text: piece(n)});
    living = await alive();
    return 'reported';
  },
});

const models: Record<string, () => BaseLlm> = {
  progress: () => new Caller({model: 'caller'}),
  text: () => new Talker({model: 'talker'}),
  wire: () => new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', httpOptions: {baseUrl: url}}),
};
const agent = new LlmAgent({name: 'root', model: models[what!]!(), tools: [report]});
const runner = new InMemoryRunner({agent, appName: 'app', runConfig: {streamingMode: StreamingMode.SSE}});
let bytes = 0;
let last = 0;
let seen = 0;
for await (const event of runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}})) {
  const [part] = event.content?.parts ?? [];
  const text = part?.text ?? (part?.functionResponse?.response?.['text'] as string | undefined) ?? '';
  if (event.partial) bytes += text.length;
  else last = text.length;
  sample(seen++, event);
}
console.log(JSON.stringify({bytes, last, samples: samples.length, alive: living}));
