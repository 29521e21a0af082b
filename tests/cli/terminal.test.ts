// At a terminal, which `script` of util-linux makes.
import {spawnSync} from 'node:child_process';
import {kill} from 'node:process';
import {describe, expect, test} from 'vitest';
import {start, type Program} from './sluice.ts';

const canMakeTerminals = spawnSync('script', ['--help'], {encoding: 'utf8'}).stdout?.includes('--echo') ?? false;

const chat = (): Program => start(['run', 'tests/cli/agents/puppet.ts'], {terminal: true});

/** Has an answer begun that lasts until it is released; resolves with what releases it. */
async function answering(program: Program): Promise<() => void> {
  await program.until(/> /);
  program.type('typeAhead');
  const [, pid] = await program.until(/<(\d+)>/);
  return () => kill(Number(pid), 'SIGUSR2');
}

describe.runIf(canMakeTerminals)('a chat at a terminal', () => {
  test('is left by Ctrl-D at an empty prompt', async () => {
    await using program = chat();
    await program.until(/> /);
    program.press('\u0004');
    expect((await program.ended).code).toBe(0);
  });

  test('is left by Ctrl-D that was typed during an answer, once that has ended', async () => {
    await using program = chat();
    const release = await answering(program);
    // The terminal shows what is typed: it has the key before.
    program.press('\u0004typed later');
    await program.until(/typed later/);
    release();
    const {code, stdout} = await program.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('upon.');
  });

  test('answers the lines that were typed before a Ctrl-D during an answer', async () => {
    await using program = chat();
    const release = await answering(program);
    program.press('hello\n\nwhole\n\u0004typed later');
    await program.until(/typed later/);
    release();
    const {code, stdout} = await program.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/upon\.[^]*Good morning\.[^]*Not streamed\./);
  });

  test('goes on at the prompt with a message that was begun during an answer', async () => {
    await using program = chat();
    const release = await answering(program);
    program.press('hel');
    await program.until(/hel/);
    release();
    await program.until(/upon\.[^]*> .*hel/);
    program.type('lo');
    await program.until(/Good morning\./);
    program.press('\u0004');
    expect((await program.ended).code).toBe(0);
  });
});
