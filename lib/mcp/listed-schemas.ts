import type {FunctionDeclaration} from '../content.ts';
import {InvalidOptionError} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {compileParameters, type Parameters} from '../schema/parameters.ts';
import type {ListedTool} from './list-tools.ts';

/** What the model is told of a listed tool, and how its arguments are checked before they are sent. */
export interface InputSchema {
  readonly parameters: Parameters;
  readonly declaration: FunctionDeclaration;
}

/**
 * Works out what the model is told of a listed tool. A schema that cannot be declared, such as one that refers to other documents, is told in
 * words: the tool can still be used, and its server checks the arguments anyway.
 *
 * @param name - what the model is to call it
 */
export function inputSchemaOf(name: string, {title, description, inputSchema}: ListedTool): InputSchema {
  const said = [description, title].find((text) => typeof text === 'string' && text !== '') ?? '';
  try {
    const parameters = compileParameters(isRecord(inputSchema) ? {type: 'object', ...inputSchema} : undefined, `${name}.inputSchema`);
    return {parameters, declaration: Object.freeze({name, description: said as string, ...parameters.declaration})};
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    const parameters = compileParameters({type: 'object'}, name);
    const note = `Its arguments, as a JSON Schema: ${JSON.stringify(inputSchema)}`;
    return {parameters, declaration: Object.freeze({name, description: `${said as string}\n\n${note}`.trim(), ...parameters.declaration})};
  }
}

/**
 * How the structured content of a listed tool is checked; nothing where its schema is none, or one that cannot be looked into: what a server
 * sends is of use to the model all the same.
 */
export function outputShapeOf(name: string, {outputSchema}: ListedTool): Parameters['shape'] {
  if (!isRecord(outputSchema)) return undefined;
  try {
    return compileParameters({type: 'object', ...outputSchema}, `${name}.outputSchema`).shape;
  } catch {
    return undefined;
  }
}
