/** Names that `sluice` has in another entry, as docs/from-adk.md says. */
export const elsewhere: Readonly<Record<string, string>> = {
  'sluice/files': 'FileArtifactService',
  'sluice/gemini': 'Gemini',
  'sluice/mcp': 'MCPToolset',
  'sluice/plugins': 'GlobalInstructionPlugin LoggingPlugin',
};

export const words = (text: string): string[] => text.split(/\s+/);

/** The names that a page says to be left out: all that stands in code in the list below "Every name". */
export function leftOut(page: string): string[] {
  const [, list = ''] = page.split('Every name of `@google/adk` that is none here', 2);
  return [...(list.split('Shown by:', 1)[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}
