/** The ids of calls that models give in branches beside each other, none of which sees what the others say: models count alike. */
export class BranchCallIds {
  readonly #branches = new Map<string, string | undefined>();

  /** Whether another branch has the id. Who asks first has it. */
  isTaken(id: string, branch: string | undefined): boolean {
    if (!this.#branches.has(id)) this.#branches.set(id, branch);
    return this.#branches.get(id) !== branch;
  }
}
