import {nested} from './starts-a-run.ts';

export const texts: string[] = await nested();

export function body(): string {
  return 'never called';
}
