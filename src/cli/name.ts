import { InvalidArgumentError } from 'commander';

/** Parses the name of a record. */
export function name(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 200 || /\0|\p{Surrogate}/u.test(trimmed)) {
    throw new InvalidArgumentError('Enter 1 to 200 characters.');
  }
  return trimmed;
}
