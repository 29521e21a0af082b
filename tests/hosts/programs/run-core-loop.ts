import {coreLoop} from './core-loop.ts';

await coreLoop((line) => console.log(line));
