import { invalid } from '#libs/rpc';
import { type FieldDefinition } from '../../fields/index.js';
import { type Meaning, MEANINGS, meaningsIn } from './columns.js';

/** The uses of columns that the client has chosen, by column: null if it is not imported. */
export type ColumnMap = ReadonlyMap<string, Meaning | null>;

/** For a column that is not imported. */
const IGNORE = 'ignore';

/** The field of an operation that accepts it. */
export const MAP_FIELD = {
  max: 10_000,
  optional: true,
  example: '{"Mail":"email","Keine Post":"optOut","Shoe size":"ignore"}',
  description:
    `How the columns of a table are used, as a JSON object from column names to ${MEANINGS.map((one) => `\`${one}\``).join(', ')}, ` +
    '`customFields.` with the key of a custom field, or `ignore`. Other columns are recognized by their names.',
};

/** @throws RpcError BAD_REQUEST */
export function readMap(
  text: string | undefined,
  isTable: boolean,
  fields: readonly FieldDefinition[],
  hasSignatures: boolean,
): ColumnMap {
  if (text === undefined) return new Map();
  const refuse = (message: string) => invalid([{ path: 'map', message }]);
  if (!isTable) throw refuse('is only for tables: NDJSON lines name the fields themselves');
  let map: unknown;
  try {
    map = JSON.parse(text);
  } catch {
    map = undefined;
  }
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw refuse('must be a JSON object, such as {"Mail":"email","Shoe size":"ignore"}');
  const meanings: Meaning[] = [
    ...meaningsIn(hasSignatures),
    ...fields.map(({ key }) => `customFields.${key}` as const),
  ];
  const entries = Object.entries(map).map(([column, meaning]) => {
    if (meaning === IGNORE) return [column.trim(), null] as const;
    const known = meanings.find((one) => one === meaning);
    if (known) return [column.trim(), known] as const;
    throw refuse(
      `must map ${JSON.stringify(column.slice(0, 100))} to one of: ${meanings.join(', ')}, ${IGNORE}`,
    );
  });
  const chosen = new Map<string, Meaning | null>();
  for (const [column, meaning] of entries) {
    if (chosen.has(column)) throw refuse(`names ${JSON.stringify(column.slice(0, 100))} twice`);
    chosen.set(column, meaning);
  }
  return chosen;
}
