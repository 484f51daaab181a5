import { type NextFunction, type Request, type Response } from 'express';
import { invalid } from './input.js';

/**
 * Parses the query parameters.
 *
 * @throws RpcError BAD_REQUEST if they are not UTF-8: node:querystring would replace broken bytes with U+FFFD.
 */
export function readQuery(request: Request): unknown {
  if (!isDecodable(request.url)) {
    throw invalid([{ path: '', message: 'must be UTF-8, percent-encoded' }]);
  }
  return request.query;
}

/** @throws RpcError BAD_REQUEST if a request whose input is its body also has query parameters. */
export function refuseQuery(request: Request): void {
  if (!request.url.includes('?')) return;
  const [name] = Object.keys(request.query);
  if (name === undefined) return;
  throw invalid([{ path: name.slice(0, 100), message: 'must be in the body, not in the query' }]);
}

/**
 * Middleware that replaces an undecodable path with one without a route. Express would reject it before the
 * guards run, so such requests would not count against the rate limit.
 */
export function replaceUndecodablePath(request: Request, _response: Response, next: NextFunction): void {
  if (!isDecodable(request.path)) request.url = '/v1/';
  next();
}

function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
