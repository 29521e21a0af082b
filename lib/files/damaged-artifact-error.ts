import {SluiceError} from '../errors.ts';

/** A version of an artifact is not as it was written: somebody else has changed its files. */
export class DamagedArtifactError extends SluiceError {
  readonly code = 'ARTIFACT_DAMAGED';
  /** The file that cannot be read. */
  readonly path: string;

  constructor(path: string, options?: ErrorOptions) {
    super(`Expected the record of an artifact's version in ${path}; restore that file, or delete the folder that it is in`, options);
    this.path = path;
  }
}
