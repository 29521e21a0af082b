import type {Server} from 'node:http';
import {isIPv6, type AddressInfo} from 'node:net';
import type {Check} from '../schema/options.ts';
import {HttpProblem} from '../serve/http-problem.ts';
import type {FetchHandler} from './node-handler.ts';

/** Any host, or those of a list. */
export const isAllowedHosts: Check = {
  expected: '"*", or an array of names of hosts without a port, such as agents.example',
  accepts: (value) => value === '*' || (Array.isArray(value) && value.every(isHostname)),
};

/** Whether something names a host, and nothing else: a port, say. An IPv6 address stands in brackets. */
export function isHostname(value: unknown): boolean {
  return typeof value === 'string' && /^(?:[^\s/?#@\\:[\]]+|\[[\d.:a-f]+\])$/i.test(value) && URL.canParse(`http://${value}`);
}

/** What {@link allowHosts} goes by. */
export interface Hosts {
  /** `undefined`: this machine's names where only this machine reaches the server, any elsewhere. */
  readonly allowedHosts: '*' | readonly string[] | undefined;
  /** What the server was told to listen on. */
  readonly hostname: string;
  /** One that listens. */
  readonly server: Server;
}

/**
 * Puts a guard in front of a handler: a request for a host that the server does not answer for is refused with 403.
 *
 * A page of any site reaches a server on 127.0.0.1 under a name of its own (DNS rebinding), and is then of the same origin for the browser:
 * only the name tells such a request from one that is meant for this machine.
 */
export function allowHosts(handler: FetchHandler, {allowedHosts, hostname, server}: Hosts): FetchHandler {
  const {address} = server.address() as AddressInfo;
  const allowed = allowedHosts ?? (isLoopback(canonical(address)) ? [] : '*');
  if (allowed === '*') return handler;
  const names = new Set([...allowed, hostname].map(canonical));
  return (request, host) => {
    const asked = canonical(new URL(request.url).hostname);
    if (isLoopback(asked) || names.has(asked)) return handler(request, host);
    throw new HttpProblem(
      403,
      'HOST_NOT_ALLOWED',
      `This server does not answer for ${asked}, only for this machine (localhost) and for its \`allowedHosts\``,
    );
  };
}

/** A name or address as URLs write it: in lower case, in ASCII, an address in its one form; and without the dot of a whole name. */
function canonical(host: string): string {
  const url = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`);
  return (url?.hostname ?? host).replace(/\.$/, '');
}

/** Whether a canonical host is this machine, and reached by nobody else. No name server is asked about what is below `localhost`. */
function isLoopback(host: string): boolean {
  return /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$|^\[::1\]$|^\[::ffff:7f[\da-f]{2}:[\da-f]+\]$/.test(host);
}
