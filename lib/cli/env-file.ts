import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {loadEnvFile} from 'node:process';

/**
 * Sets environment variables from the `.env` file next to an agent, then from that of the working directory, as ADK does. What is set
 * already stays: the shell is stronger than both.
 */
export function loadEnvFiles(folder: string): void {
  for (const place of [folder, process.cwd()]) {
    const file = join(place, '.env');
    if (existsSync(file)) loadEnvFile(file);
  }
}
