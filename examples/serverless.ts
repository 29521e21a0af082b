// A serverless handler on web standards: Events as NDJSON, at the pace of the client, and ended when the client leaves.
//
//   node examples/serverless.ts         serves it with node:http on port 8787 (PORT)
//   curl -N localhost:8787 -d '{"sessionId": "s1", "message": "How is the weather in Paris?"}'
//   curl 'localhost:8787?sessionId=s1'
//
// With GEMINI_API_KEY it asks Gemini, and wttr.in (WEATHER_URL) for the weather; without a key, a scripted model says so.
import {FunctionTool, InMemorySessionService, LlmAgent, Runner, StreamingMode, type BaseLlm, type Run} from 'sluice';

/** What hosts offer beside the request: keeps the function alive until a promise settles. */
export interface HandlerContext {
  waitUntil?(promise: Promise<unknown>): void;
}

const appName = 'serverless';
const userId = 'visitor'; // In earnest: who the credentials of the request say.
// One per instance. It holds the queue too: runs on one session follow each other, whichever Runner starts them.
const sessionService = new InMemorySessionService();

export async function handler(request: Request, context: HandlerContext = {}): Promise<Response> {
  if (request.method === 'GET') return storedSession(new URL(request.url).searchParams.get('sessionId') ?? '');
  const {sessionId, message} = (await request.json().catch(() => ({}))) as {sessionId?: unknown; message?: unknown};
  if (typeof sessionId !== 'string' || !sessionId || typeof message !== 'string' || !message) {
    return Response.json({error: 'expected {"sessionId": string, "message": string}'}, {status: 400});
  }
  const runner = new Runner({appName, agent: await weatherAgent(), sessionService, autoCreateSession: true});
  const run = runner.runAsync({
    userId,
    sessionId,
    newMessage: {role: 'user', parts: [{text: message}]},
    abortSignal: request.signal,
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  // When the client leaves, what was said so far still has to be stored.
  context.waitUntil?.(run.settled);
  return new Response(ndjson(run), {headers: {'content-type': 'application/x-ndjson'}});
}

/** A run as a stream: the client's demand pulls each Event, and a client that leaves ends the run. */
function ndjson(run: Run): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const lineOf = (value: unknown): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const {done, value} = await run.next();
          if (done) controller.close();
          else controller.enqueue(lineOf(value));
        } catch (error) {
          // The status has been sent: a failure is the last line.
          controller.enqueue(lineOf({error: error instanceof Error ? error.message : String(error)}));
          controller.close();
        }
      },
      async cancel() {
        await run.return();
      },
    },
    {highWaterMark: 0}, // Nothing runs ahead of the client.
  );
}

async function storedSession(sessionId: string): Promise<Response> {
  const session = await sessionService.getSession({appName, userId, sessionId});
  return session ? Response.json(session) : Response.json({error: 'no such session'}, {status: 404});
}

async function weatherAgent(): Promise<LlmAgent> {
  const getWeather = new FunctionTool({
    name: 'get_weather',
    description: 'The current weather in a city.',
    parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
    execute: async ({city}, {abortSignal}) => {
      const url = `${process.env['WEATHER_URL'] ?? 'https://wttr.in'}/${encodeURIComponent(String(city))}?format=4`;
      const response = await fetch(url, {signal: abortSignal});
      if (!response.ok) throw new Error(`The weather service answered ${response.status}`);
      return response.text();
    },
  });
  const model = process.env['GEMINI_API_KEY'] ? 'gemini-2.5-flash' : await scriptedModel();
  return new LlmAgent({name: 'weather', model, instruction: 'Answer in one or two sentences.', tools: [getWeather]});
}

async function scriptedModel(): Promise<BaseLlm> {
  const {deltas, ScriptedLlm} = await import('sluice/testing');
  return new ScriptedLlm({steps: [deltas('GEMINI_API_KEY is not set: ', 'this is a scripted model, ', 'which knows no weather.')]});
}

if (import.meta.main) {
  const {serve} = await import('./serverless/node-server.ts');
  console.log(`Serving on ${await serve(handler, Number(process.env['PORT'] ?? 8787))}`);
}
