/**
 * Artifacts as files on a disk.
 *
 * @module
 */
export {DamagedArtifactError} from './damaged-artifact-error.ts';
export {FileArtifactService} from './file-artifact-service.ts';
