import { TextDecoder } from 'node:util';

/** The characters of the bytes 80 to 9F in Windows-1252. */
const WINDOWS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
const CONTROLS = /[\x80-\x9f]/g;

type Decoder = { decode(bytes?: Uint8Array, options?: { stream: boolean }): string };

/**
 * A decoder of texts in chunks.
 *
 * Node.js decodes Windows-1252 like Latin-1: it makes control characters of the apostrophe in O’Brien and of €.
 */
export function decoderOf(encoding: string): Decoder {
  if (encoding !== 'windows-1252') return new TextDecoder(encoding);
  return {
    decode: (bytes) =>
      Buffer.from(bytes ?? [])
        .toString('latin1')
        .replace(CONTROLS, (character) => WINDOWS[character.charCodeAt(0) - 0x80]!),
  };
}
