import type {Event} from '../../events/event.ts';
import type {Diagnostic} from '../diagnostic.ts';

interface Write {
  readonly source: number;
  readonly author: string;
  readonly value: string;
}

/** Tells of agents that run beside each other and write different values to one state key. What is stored later wins. */
export class StateConflicts {
  readonly #writes = new Map<string, Write>();
  readonly #diagnose: (diagnostic: Diagnostic) => void;

  constructor(diagnose: (diagnostic: Diagnostic) => void) {
    this.#diagnose = diagnose;
  }

  /** @param source - which of the siblings wrote it */
  note(source: number, {author, actions}: Event): void {
    for (const [name, written] of Object.entries(actions?.stateDelta ?? {})) {
      const write = {source, author, value: JSON.stringify(written)};
      const earlier = this.#writes.get(name);
      this.#writes.set(name, write);
      if (!earlier || earlier.source === source || earlier.value === write.value) continue;
      const message = `\`${earlier.author}\` and \`${author}\` ran beside each other and wrote different values to the state key \`${name}\`; what was stored later, that of \`${author}\`, won`;
      this.#diagnose({code: 'STATE_CONFLICT', name, agents: [earlier.author, author], message});
    }
  }
}
