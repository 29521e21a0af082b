import {getFunctionCalls, getFunctionResponses, ToolExecutionMode} from 'sluice';
import {compareThreads} from './blocking.ts';
import type {DemoOptions} from './command-line.ts';
import {EventPrinter} from './event-printer.ts';
import {fact, heading, line, ms, paint, write} from './screen.ts';
import {openStage, type Stage} from './stage.ts';
import {stopInStream, stopInTools} from './stops.ts';
import {axis, barsOf, rows, span, type Bar} from './timeline.ts';
import {toolOf} from './travel-agent.ts';
import {question, travelReplies} from './travel-model.ts';

/** What a mode made of the three calls. */
interface Measured {
  readonly bars: readonly Bar[];
  /** The names in the response Event. */
  readonly responses: readonly string[];
}

/** The whole demo. */
export async function show(options: DemoOptions): Promise<void> {
  const parallel = await streamEvents(options);
  await compareModes(options, parallel);
  await stopInTools(options);
  await stopInStream(options);
  await compareThreads();
}

async function streamEvents(options: DemoOptions): Promise<Measured> {
  await using stage = await openStage({...options, replies: travelReplies()});
  const where = stage.gemini ? `a Gemini server on this machine (${stage.gemini.url})` : 'Google’s Gemini API';
  heading(
    '1  The Events of a run, as they stream',
    `${options.model} on ${where}; each tool an HTTP call of about 400 ms (${stage.tools.url}). ● is stored, · is partial and passes by.`,
  );
  const printer = new EventPrinter();
  printer.user(question);
  const responses: string[] = [];
  for await (const event of stage.ask(question)) {
    printer.event(event);
    responses.push(...getFunctionResponses(event).map(({name}) => name ?? ''));
  }
  return {bars: await barsOf(stage.tools.requests, toolOf), responses};
}

async function compareModes(options: DemoOptions, parallel: Measured): Promise<void> {
  heading(
    '2  The tools, one after the other and together',
    'The same question in both modes, on one axis, as the service saw its requests.',
  );
  const sequential = await runSequentially(options);
  if (sequential.bars.length === 0 || parallel.bars.length === 0) return fact('no tools', 'The model answered without a look-up.');
  const axisMs = Math.max(span(sequential.bars), span(parallel.bars)) * 1.02;
  printMode('SEQUENTIAL', sequential, axisMs);
  printMode('PARALLEL', parallel, axisMs);
  line(axis(axisMs));
  line();
  fact('finished in', inOrderOfEnd(parallel.bars).join(', '));
  fact('responses in', `${parallel.responses.join(', ')}: always in call order`);
  const factor = span(sequential.bars) / span(parallel.bars);
  fact('together', `${factor.toFixed(1)} times as fast`, 'green');
}

async function runSequentially(options: DemoOptions): Promise<Measured> {
  await using stage = await openStage({...options, replies: travelReplies()});
  const responses: string[] = [];
  write(paint('dim', '  asking again …'));
  for await (const event of stage.ask(question, {runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL}})) {
    if (!event.partial) void tellEnds(stage, getFunctionCalls(event).length);
    responses.push(...getFunctionResponses(event).map(({name}) => name ?? ''));
  }
  line('\n');
  return {bars: await barsOf(stage.tools.requests, toolOf), responses};
}

/** Names each tool when it has ended. One that asked nothing of the service is waited for until that closes. */
async function tellEnds({tools}: Stage, calls: number): Promise<void> {
  try {
    for (let told = 0; told < calls; told++) {
      const request = await tools.nextRequest();
      await request.closed;
      write(paint('dim', ` ${toolOf(request)} …`));
    }
  } catch {
    // The service is closed: nothing more to tell.
  }
}

function printMode(mode: string, {bars}: Measured, axisMs: number): void {
  line(`  ${paint('bold', mode.padEnd(16))}${paint('bold', ms(span(bars)))}`);
  for (const row of rows(bars, axisMs)) line(row);
}

function inOrderOfEnd(bars: readonly Bar[]): string[] {
  return bars.toSorted((a, b) => a.end - b.end).map(({name}) => name);
}
