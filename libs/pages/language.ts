import { type Request } from 'express';

/** The language that a browser prefers (RFC 9110, with quality values). @param among those that exist; the first is the default. */
export function languageOf(request: Request, among: readonly string[]): string {
  return request.acceptsLanguages([...among]) || among[0]!;
}
