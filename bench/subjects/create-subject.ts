import type {Subject, SubjectOptions} from './subject.ts';

export const SUBJECTS: readonly string[] = ['floor', 'floor-contract', 'sluice'];

/** Loads nothing but the subject that is asked for. */
export async function createSubject(name: string, options: SubjectOptions): Promise<Subject> {
  switch (name) {
    case 'floor':
      return (await import('./floor.ts')).createFloor(options);
    case 'floor-contract':
      return (await import('./floor-contract.ts')).createFloorContract(options);
    case 'sluice':
      return (await import('./sluice.ts')).createSluice(options);
    default:
      throw new Error(`no subject ${name}; there are ${SUBJECTS.join(', ')}`);
  }
}
