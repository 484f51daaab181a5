/** Outside this range, JavaScript writes numbers with an exponent, whereas PostgreSQL writes all digits. */
const LARGEST_PLAIN = 1e21;
const SMALLEST_PLAIN = 1e-6;

/**
 * The size in bytes of a value as PostgreSQL formats its jsonb, which is what readers receive: with a space after each
 * comma and colon, and numbers without exponents (`1e308` has 309 digits).
 *
 * @param text the value's `JSON.stringify`, so that it is not computed twice.
 */
export function storedBytes(value: unknown, text: string): number {
  return Buffer.byteLength(text) + growth(value);
}

function growth(value: unknown): number {
  if (typeof value === 'number') return growthOfNumber(value);
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  if (inner.length === 0) return 0;
  const spaces = inner.length - 1 + (Array.isArray(value) ? 0 : inner.length);
  return inner.reduce<number>((sum, one) => sum + growth(one), spaces);
}

function growthOfNumber(value: number): number {
  const size = Math.abs(value);
  if (size === 0 || (size >= SMALLEST_PLAIN && size < LARGEST_PLAIN)) return 0;
  const text = String(size);
  const [digits = '', exponent = ''] = text.split('e');
  const power = Number(exponent);
  const count = digits.length - (digits.includes('.') ? 1 : 0);
  // 1.5e300: 301 digits. 1.5e-7: "0.", six zeros, two digits.
  const written = power > 0 ? power + 1 : 1 - power + count;
  return written - text.length;
}
