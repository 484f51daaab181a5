import { type FieldSchema, Integer } from './fields.js';
import { type Input, invalid } from './input.js';

/** `*` or one entity tag. Proxies that compress responses put `W/` before it. */
const IF_MATCH = /^(?:\*|(?:W\/)?"(\d{1,10})")$/;

/** In records that updates and deletes can be conditional on. */
export const recordVersion: FieldSchema = {
  type: 'integer',
  description:
    'Increases with each change of the record. Send it back as `expectedVersion`, or as `If-Match`, so that a later ' +
    'change of someone else is not overwritten. Counts of other records do not change it.',
};

/** Declares the field of operations that are conditional. */
export function declareExpectedVersion(input: { prototype: object }): void {
  Integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description:
      "The record's `version` that your change is based on. If it has changed since, the response is 412 VERSION_MISMATCH.",
  })(input.prototype, 'expectedVersion');
}

export const ifMatchHeader = {
  name: 'If-Match',
  required: false,
  description: 'The `ETag` of the record that your change is based on. The same as `expectedVersion`.',
  schema: { type: 'string', pattern: IF_MATCH.source },
};

const expected = new WeakMap<Input, number>();

/** The version that the record of a command must have; undefined for any. */
export function expectedVersionOf(input: Input): number | undefined {
  return expected.get(input);
}

/** Moves the field out of the input, because all other fields of an update are changes of the record. */
export function takeExpectedVersion(input: Input & { expectedVersion?: number }): void {
  if (input.expectedVersion === undefined) return;
  expected.set(input, input.expectedVersion);
  delete input.expectedVersion;
}

/**
 * Adds the field that an `If-Match` header stands for.
 *
 * @throws RpcError BAD_REQUEST for a header that is malformed, differs from the field, or would have no effect.
 */
export function withIfMatch(fields: unknown, header: string | undefined, isConditional: boolean): unknown {
  if (header === undefined) return fields;
  const refuse = (message: string) => invalid([{ path: 'If-Match', message }]);
  if (!isConditional) throw refuse('must be omitted: this operation cannot check a version');
  const match = IF_MATCH.exec(header);
  if (!match) throw refuse('must be * or the ETag of one record, with its quotation marks, such as "3"');
  // A body that is no object is rejected later.
  if (match[1] === undefined || typeof fields !== 'object' || fields === null || Array.isArray(fields))
    return fields;
  const expectedVersion = Number(match[1]);
  if ('expectedVersion' in fields && fields.expectedVersion !== expectedVersion)
    throw refuse('must be the same version as expectedVersion: send one of them');
  return { ...fields, expectedVersion };
}

/** Whether an operation returns one record with a `version`. */
export function returnsVersion({ answers, list }: { answers: FieldSchema; list?: boolean }): boolean {
  return !list && answers.properties?.version === recordVersion;
}

/** The `ETag` of a version. */
export function entityTag(version: number): string {
  return `"${version}"`;
}
