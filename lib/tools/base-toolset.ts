import type {Context} from '../context/context.ts';
import type {BaseTool} from './base-tool.ts';

/** Chooses tools, by name or by a predicate. */
export type ToolFilter = readonly string[] | ((tool: BaseTool, context?: Context) => boolean);

/** Tools that are found out at run time, such as those of a server. */
export abstract class BaseToolset {
  readonly toolFilter: ToolFilter;
  /** Put before every tool's name by the toolset itself. */
  readonly prefix: string | undefined;

  /** @param toolFilter - which tools to offer; an empty list means all */
  constructor(toolFilter: ToolFilter = [], prefix?: string) {
    this.toolFilter = toolFilter;
    this.prefix = prefix;
  }

  /** Lists the tools. Asked before every model call; a toolset keeps what is costly to find out. */
  abstract getTools(context?: Context): Promise<BaseTool[]>;

  /** Lets go of what the toolset holds. Called once, when the runner closes. */
  abstract close(): Promise<void>;

  protected isToolSelected(tool: BaseTool, context?: Context): boolean {
    if (typeof this.toolFilter === 'function') return this.toolFilter(tool, context);
    return this.toolFilter.length === 0 || this.toolFilter.includes(tool.name);
  }
}
