import { correction, generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';

/** Pixels of a PNG per module: a code of 37 modules with its margin has 1,080, enough for an A4 poster. */
const SCALE = 24;

/** Draws a text as a black QR code with the margin that scanners need. Scanners can still read it if a seventh of it is covered. */
export function qrCode(text: string, format: 'svg' | 'png'): Buffer {
  const code = generate(text, { minCorrectionLevel: correction.M });
  return format === 'png'
    ? Buffer.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], scale: SCALE }))
    : Buffer.from(toSvgSource(code, { off: 'white', scale: 8 }));
}
