import type {Part} from '../content.ts';
import {expectOption} from '../errors.ts';
import {isName, isObject, isString, isWholeNumber, optional} from '../schema/options.ts';
import {type ArtifactScope, USER_PREFIX} from './base-artifact-service.ts';

/** @throws {@link InvalidOptionError} where a part of the scope is not a string with something in it */
export function checkScope({appName, userId, sessionId}: ArtifactScope): void {
  for (const [option, name] of Object.entries({appName, userId, sessionId})) {
    expectOption(isName.accepts(name), option, isName.expected, name);
  }
}

/** @throws {@link InvalidOptionError} where a part of the scope, or the file's name, is not a string with something in it */
export function checkFile(file: ArtifactScope & {readonly filename: string}): void {
  checkScope(file);
  const {filename} = file;
  const isUsable = isName.accepts(filename) && filename !== USER_PREFIX;
  expectOption(isUsable, 'filename', `a non-empty string, with more than \`${USER_PREFIX}\` in it`, filename);
}

/** @throws {@link InvalidOptionError} where there is a version and it is none that a store could have given */
export function checkVersion(version: number | undefined): void {
  expectOption(version === undefined || A_VERSION.accepts(version), 'version', A_VERSION.expected, version);
}

/**
 * @param option - names the part in errors
 * @throws {@link InvalidOptionError} where a part has nothing that can be kept, or has it in another form than a request to a model takes
 */
export function checkArtifact(artifact: Part, option: string = 'artifact'): void {
  expectOption(isObject.accepts(artifact), option, A_PART, artifact);
  const {inlineData, fileData, text} = artifact;
  expectOption(inlineData !== undefined || fileData !== undefined || text !== undefined, option, A_PART, artifact);
  if (inlineData !== undefined) {
    expectOption(isObject.accepts(inlineData), `${option}.inlineData`, isObject.expected, inlineData);
    expectOption(isString.accepts(inlineData.data), `${option}.inlineData.data`, 'a base64 string', inlineData.data);
    expectOption(MIME_TYPE.accepts(inlineData.mimeType), `${option}.inlineData.mimeType`, MIME_TYPE.expected, inlineData.mimeType);
  }
  if (fileData !== undefined) {
    expectOption(isObject.accepts(fileData), `${option}.fileData`, isObject.expected, fileData);
    expectOption(isName.accepts(fileData.fileUri), `${option}.fileData.fileUri`, isName.expected, fileData.fileUri);
  }
  if (text !== undefined) expectOption(isString.accepts(text), `${option}.text`, isString.expected, text);
}

const A_VERSION = /* @__PURE__ */ isWholeNumber({min: 0});
const MIME_TYPE = /* @__PURE__ */ optional(isString);
const A_PART = 'a Part with inlineData, fileData or text';
