import {posix} from 'node:path';
import {describe, expect, test} from 'vitest';
import {importsOf, list, read} from './project.ts';

/** From the ground up: a file imports its own folder and floors below it. `words` are the files that stand right in `lib/`. */
const floors: readonly (readonly string[])[] = [
  ['words'],
  ['async', 'schema'],
  ['events', 'steps'],
  ['models', 'sessions', 'artifacts', 'dispatch'],
  ['memory'],
  ['context'],
  ['tools'],
  ['answers'],
  ['agents'],
  ['agents/llm'],
  ['agents/workflow'],
  ['runner'],
  ['index'],
];

/** Folders beside the core: what of the project each may import. */
const besides: Readonly<Record<string, readonly string[]>> = {
  arguments: ['words', 'schema'],
  flow: floors.flat().filter((folder) => folder !== 'index'),
  plugins: floors.flat().filter((folder) => folder !== 'index'),
  live: floors.flat().filter((folder) => folder !== 'index'),
  gemini: ['words', 'async', 'schema', 'events', 'steps', 'models'],
  workers: ['words', 'async', 'schema', 'events', 'models', 'sessions', 'dispatch', 'context', 'tools'],
  files: ['words', 'schema', 'artifacts'],
  mcp: ['words', 'async', 'schema', 'context', 'tools'],
  testing: floors.flat().concat('flow', 'gemini'),
  serve: floors.flat().filter((folder) => folder !== 'index'),
  node: ['words', 'async', 'schema', 'serve'],
  lambda: ['words', 'async', 'schema', 'serve'],
  cli: floors.flat().concat('serve', 'node'),
};

/** Files longer than the limit, with the reason. */
const long: Readonly<Record<string, string>> = {
  'lib/errors.ts': 'the one list of every error that Sluice throws, each a few lines',
};

const core = new Set(floors.flat());
const files = list('lib/**/*.ts');

/** The folder of a file below `lib/`, by the names above. A folder within one beside the core is a part of it. */
function folderOf(file: string): string {
  if (file === 'lib/index.ts') return 'index';
  const folder = posix.relative('lib', posix.dirname(file));
  const [top = ''] = folder.split('/');
  return besides[top] ? top : folder || 'words';
}

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  const allowed = besides[from];
  if (allowed) return allowed.includes(to);
  const floor = floors.findIndex((folders) => folders.includes(from));
  return floors.slice(0, floor).flat().includes(to);
}

/** The relative imports of a file, as paths from the project's folder. */
function relativeImports(file: string): string[] {
  const relative = importsOf(file).filter(({specifier}) => specifier.startsWith('.'));
  return relative.map(({specifier}) => posix.join(posix.dirname(file), specifier));
}

describe('lib/', () => {
  test('every folder has a floor', () => {
    const known = new Set([...core, ...Object.keys(besides)]);
    expect(files.filter((file) => !known.has(folderOf(file)))).toEqual([]);
  });

  test('every import goes to the own folder or a lower floor', () => {
    const wrong = files.flatMap((file) =>
      relativeImports(file)
        .filter((target) => !mayImport(folderOf(file), folderOf(target)))
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('every import names a file that stands there, with its ending', () => {
    const known = new Set(files);
    expect(files.flatMap(relativeImports).filter((target) => !known.has(target))).toEqual([]);
  });

  test('no import cycle, type imports counted', () => {
    expect(findCycle(new Map(files.map((file) => [file, relativeImports(file)])))).toBeUndefined();
  });

  test('the core imports no package but p-limit, and of @google/genai only types', () => {
    const packages = files
      .filter((file) => core.has(folderOf(file)))
      .flatMap((file) => importsOf(file).filter(({specifier, kind}) => kind === 'value' && !specifier.startsWith('.')))
      .map(({specifier}) => specifier);
    expect([...new Set(packages)].toSorted()).toEqual(['p-limit']);
  });

  test('the lazy imports are these', () => {
    const lazy = files.flatMap((file) =>
      importsOf(file)
        .filter(({kind}) => kind === 'lazy')
        .map(({specifier}) => `${file}: ${specifier}`),
    );
    expect(lazy).toMatchInlineSnapshot(`
      [
        "lib/agents/base-agent.ts: sluice/flow",
        "lib/agents/llm/build-request.ts: sluice/flow",
        "lib/agents/llm/llm-agent.ts: sluice/flow",
        "lib/agents/llm/llm-agent.ts: sluice/flow",
        "lib/agents/llm/llm-agent.ts: sluice/flow",
        "lib/agents/llm/llm-agent.ts: sluice/live",
        "lib/agents/llm/load-model-hooks.ts: sluice/flow",
        "lib/agents/llm/run-tool.ts: sluice/flow",
        "lib/agents/llm/run-tool.ts: sluice/flow",
        "lib/agents/llm/tool-run-options.ts: sluice/workers",
        "lib/gemini/gemini-client.ts: @google/genai/web",
        "lib/gemini/gemini-client.ts: @google/genai",
        "lib/gemini/live/gemini-live.ts: ws",
        "lib/gemini/live/live-login.ts: google-auth-library",
        "lib/live/hand-over.ts: sluice/flow",
        "lib/mcp/connection.ts: ./stdio-transport.ts",
        "lib/mcp/sdk.ts: @modelcontextprotocol/sdk/types.js",
        "lib/mcp/sdk.ts: @modelcontextprotocol/sdk/client/streamableHttp.js",
        "lib/mcp/sdk.ts: @modelcontextprotocol/sdk/client/index.js",
        "lib/models/llm-registry.ts: sluice/gemini",
        "lib/node/node-upgrade-handler.ts: ws",
        "lib/runner/live-setup.ts: sluice/live",
        "lib/runner/read-answers.ts: sluice/answers",
        "lib/runner/run-setup.ts: sluice/plugins",
        "lib/runner/run-setup.ts: sluice/flow",
        "lib/runner/runner.ts: sluice/flow",
        "lib/runner/runner.ts: sluice/flow",
        "lib/runner/runner.ts: sluice/flow",
        "lib/schema/validate-arguments.ts: sluice/arguments",
        "lib/testing/schedule-explorer/lazy-entries.ts: sluice/answers",
        "lib/testing/schedule-explorer/lazy-entries.ts: sluice/arguments",
        "lib/testing/schedule-explorer/lazy-entries.ts: sluice/flow",
        "lib/testing/schedule-explorer/lazy-entries.ts: sluice/plugins",
        "lib/testing/schedule-explorer/random-schedules.ts: fast-check",
      ]
    `);
  });

  test('no file is longer than 200 lines, but for the listed', () => {
    const isLong = (file: string): boolean => read(file).trimEnd().split('\n').length > 200;
    expect(files.filter(isLong)).toEqual(Object.keys(long));
  });
});

/** One way round, where there is one. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of graph.get(file) ?? []) {
      const cycle = visit(target, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}
