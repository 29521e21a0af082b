/** Moments before there is anything to connect for: tools are listed, and the request is written. */
import {BaseToolset, type BaseTool, type Context} from 'sluice';
import {AFTER, entered, passGrace, type Moment} from './stop-moments.ts';

/** Tools that take their time to be listed. */
export class SlowToolset extends BaseToolset {
  readonly #getTools: (context: Context | undefined) => Promise<BaseTool[]>;

  constructor(getTools: (context: Context | undefined) => Promise<BaseTool[]>) {
    super();
    this.#getTools = getTools;
  }

  override getTools(context?: Context): Promise<BaseTool[]> {
    return this.#getTools(context);
  }

  override async close(): Promise<void> {}
}

const LISTED = {name: 'while tools are listed', connections: [], stored: [], reads: 0, pending: true} as const;
const INSTRUCTED = {name: 'while the instruction is written', connections: [], stored: [], reads: 0, pending: true} as const;
const ASKED = {name: 'while the hook before the model is asked', connections: [], stored: [], reads: 0, pending: true} as const;

export const preparingMoments: readonly Moment[] = [
  {
    ...LISTED,
    tools: (scene) => [new SlowToolset((context) => scene.heeding('listing', context).then(() => []))],
    reached: entered('listing'),
    entered: ['listing', AFTER],
  },
  {
    ...LISTED,
    name: 'while tools are listed, which heed nothing',
    tools: (scene) => [new SlowToolset(() => scene.deaf('listing').then(() => []))],
    reached: entered('listing'),
    after: passGrace,
    entered: ['listing', AFTER],
    abandoned: ['toolsets of root'],
  },
  {
    ...INSTRUCTED,
    agent: (scene) => ({instruction: (context) => scene.heeding('instruction', context).then(() => 'late')}),
    reached: entered('instruction'),
    entered: ['instruction', AFTER],
  },
  {
    ...INSTRUCTED,
    name: 'while the instruction is written by one that heeds nothing',
    agent: (scene) => ({instruction: () => scene.deaf('instruction').then(() => 'late')}),
    reached: entered('instruction'),
    after: passGrace,
    entered: ['instruction', AFTER],
    abandoned: ['instruction of root'],
  },
  {
    ...ASKED,
    agent: (scene) => ({beforeModelCallback: ({context}) => scene.heeding('before model', context)}),
    reached: entered('before model'),
    entered: ['before model', AFTER],
  },
  {
    ...ASKED,
    name: 'while the hook before the model is asked, which ends in its own time',
    agent: (scene) => ({beforeModelCallback: () => scene.deaf('before model')}),
    reached: entered('before model'),
    after: ({letGo}) => letGo.resolve(),
    entered: ['before model', AFTER],
  },
  {
    ...ASKED,
    name: 'while the hook before the model is asked, which heeds nothing',
    agent: (scene) => ({beforeModelCallback: () => scene.deaf('before model')}),
    reached: entered('before model'),
    after: passGrace,
    entered: ['before model', AFTER],
    abandoned: ['beforeModelCallback of root'],
  },
];
