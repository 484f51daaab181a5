import { type NextFunction, type Request, type Response } from 'express';
import { invalid } from './input.js';

/**
 * The parameters of a query.
 *
 * @throws RpcError BAD_REQUEST when they are not UTF-8: node:querystring would put U+FFFD in place of broken bytes.
 */
export function readQuery(request: Request): unknown {
  if (!isDecodable(request.url)) {
    throw invalid([{ path: '', message: 'must be UTF-8, percent-encoded' }]);
  }
  return request.query;
}

/** @throws RpcError BAD_REQUEST when a request whose input is its body has input in the query too. */
export function refuseQuery(request: Request): void {
  if (!request.url.includes('?')) return;
  const [name] = Object.keys(request.query);
  if (name === undefined) return;
  throw invalid([{ path: name.slice(0, 100), message: 'must be in the body, not in the query' }]);
}

/**
 * Middleware: makes a path that cannot be decoded one that no route has. Express would refuse it before the
 * guards run, and such requests would count against no rate limit.
 */
export function replaceUndecodablePath(request: Request, _response: Response, next: NextFunction): void {
  if (!isDecodable(request.path)) request.url = '/';
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
