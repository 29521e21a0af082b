import type {IncomingMessage} from 'node:http';
import type {TLSSocket} from 'node:tls';
import {HttpProblem} from '../serve/http-problem.ts';

/** Methods that a `Request` cannot have. */
const FORBIDDEN = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** @throws {@link HttpProblem} for a target, a `Host` or a method that cannot be used */
export function requestOf(incoming: IncomingMessage, body: ReadableStream<Uint8Array<ArrayBuffer>> | null, signal: AbortSignal): Request {
  const {method = 'GET', rawHeaders} = incoming;
  if (FORBIDDEN.has(method)) throw new HttpProblem(501, 'METHOD_NOT_SUPPORTED', `The method ${method} is not supported`);
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  const takesBody = body !== null && method !== 'GET' && method !== 'HEAD';
  return new Request(urlOf(incoming, headers.get('host')), {method, headers, signal, ...(takesBody && {body, duplex: 'half'})});
}

/** @param host - what stands in `Host`; of two, both, with a space between them */
function urlOf({url = '/', socket}: IncomingMessage, host: string | null): URL {
  // HTTP/1.0 knows no Host. Nothing in it but a name and a port: a path, say, would move the path of the request.
  if (host !== null && !/^[^\s/?#@\\]+$/.test(host)) throw malformedHost();
  if (!url.startsWith('/')) {
    const absolute = /^https?:\/\//i.test(url) && URL.parse(url);
    if (!absolute) throw new HttpProblem(400, 'MALFORMED_REQUEST', 'The target of the request is neither a path nor an http URL');
    return absolute;
  }
  const scheme = (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http';
  const target = URL.parse(`${scheme}://${host ?? 'localhost'}${url}`);
  if (!target) throw malformedHost();
  return target;
}

function malformedHost(): HttpProblem {
  return new HttpProblem(400, 'MALFORMED_REQUEST', 'The Host header is not one name with an optional port');
}
