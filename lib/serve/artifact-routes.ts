import type {BaseArtifactService, LoadArtifactRequest} from '../artifacts/base-artifact-service.ts';
import type {Part} from '../content.ts';
import {InvalidOptionError} from '../errors.ts';
import {checkValues, isObject, type Check} from '../schema/options.ts';
import type {SessionKey} from '../sessions/session.ts';
import {fieldsOf, toCamelCase} from './camel-case.ts';
import type {Exchange} from './exchange.ts';
import {HttpProblem, json} from './http-problem.ts';
import type {Route} from './router.ts';
import {isPathName} from './stream/path-name.ts';

const ARTIFACTS = '/apps/:appName/users/:userId/sessions/:sessionId/artifacts';

/** ADK's routes for artifacts. The name of one may hold slashes, so that what follows it stands in the same parameter. */
export const artifactRoutes: readonly Route[] = [
  {method: 'GET', path: ARTIFACTS, answer: listArtifacts},
  {method: 'POST', path: ARTIFACTS, answer: saveArtifact},
  {method: 'GET', path: `${ARTIFACTS}/*path`, answer: loadArtifact},
  {method: 'DELETE', path: `${ARTIFACTS}/*path`, answer: deleteArtifact},
];

async function listArtifacts(exchange: Exchange): Promise<Response> {
  const {service, key} = await enter(exchange);
  return json(await service.listArtifactKeys(key));
}

async function saveArtifact(exchange: Exchange): Promise<Response> {
  const {service, key} = await enter(exchange);
  const {filename, artifact} = fieldsOf(await exchange.requireBody(), ['filename', 'artifact']);
  checkValues('body', {filename, artifact}, {filename: isFileName, artifact: isObject});
  try {
    return json({version: await service.saveArtifact({...key, filename: filename as string, artifact: toCamelCase(artifact) as Part})});
  } catch (error) {
    throw ofTheClient(error);
  }
}

async function loadArtifact(exchange: Exchange): Promise<Response> {
  const {service, key} = await enter(exchange);
  const {path = ''} = exchange.parameters;
  const {filename, version, isList} = readPath(path);
  if (isList) return json(await service.listVersions({...key, filename}));
  const asked = readVersion(version ?? exchange.url.searchParams.get('version') ?? 'latest');
  const artifact = await service.loadArtifact({...key, filename, ...asked}).catch((error: unknown) => {
    throw ofTheClient(error);
  });
  if (!artifact) throw new HttpProblem(404, 'ARTIFACT_NOT_FOUND', `There is no artifact ${JSON.stringify(filename)} of this version`);
  return json(artifact);
}

async function deleteArtifact(exchange: Exchange): Promise<Response> {
  const {service, key} = await enter(exchange);
  const {path: filename = ''} = exchange.parameters;
  await service.deleteArtifact({...key, filename});
  return json(null);
}

async function enter(exchange: Exchange): Promise<{readonly service: BaseArtifactService; readonly key: SessionKey}> {
  const {appName, userId, sessionId} = exchange.parameters;
  const {key} = await exchange.enterSession({appName, userId, sessionId});
  const service = exchange.service.options.artifactService;
  if (!service) throw new HttpProblem(404, 'NO_ARTIFACTS', 'This server keeps no artifacts');
  return {service, key};
}

/** A name whose file the other routes reach. */
const isFileName: Check = {
  expected: `${isPathName.expected}, and not ending with "/versions" or "/versions/..."`,
  accepts: (value) => isPathName.accepts(value) && readPath(value as string).filename === value,
};

/** `{name}`, `{name}/versions` or `{name}/versions/{version}`. */
function readPath(path: string): {readonly filename: string; readonly version?: string; readonly isList: boolean} {
  const list = /^(.+)\/versions$/s.exec(path)?.[1];
  if (list !== undefined) return {filename: list, isList: true};
  const [, filename = path, version] = /^(.+)\/versions\/([^/]+)$/s.exec(path) ?? [];
  return {filename, isList: false, ...(version !== undefined && {version})};
}

function readVersion(version: string): Pick<LoadArtifactRequest, 'version'> {
  if (version === 'latest') return {};
  if (/^\d{1,15}$/.test(version)) return {version: Number(version)};
  throw new HttpProblem(422, 'INVALID_FIELD', 'Expected `version` to be a whole number of at least 0, or `latest`', {field: 'version'});
}

/** The service says what is wrong with a name or a part, which came from the client. */
function ofTheClient(error: unknown): unknown {
  if (!(error instanceof InvalidOptionError)) return error;
  return new HttpProblem(422, 'INVALID_FIELD', error.message, {field: error.option});
}
