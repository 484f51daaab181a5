import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { BatchLoader } from '#libs/database';
import { type Past } from '#libs/event-store';
import { invalid } from '#libs/rpc';
import { type FieldDefinition, type GivenValues, readValues, type ValueChanges } from './custom-values.js';
import { type CustomValue, field } from './field.js';
import { fields } from './fields.js';

/** A record with values in custom fields, by the id or the key of each field. */
type WithValues = { customFields: { [field: string]: CustomValue } };

/** Organizations per statement. Each has at most 100 fields. */
const MOST_AT_ONCE = 20;

/** In the order of their creation. */
const KEYS = `
  SELECT organization_id, array_agg(id ORDER BY created_at, id) AS ids, array_agg(key ORDER BY created_at, id) AS keys
  FROM ${fields.table} WHERE organization_id = ANY ($1::uuid[]) GROUP BY organization_id`;

const DEFINITIONS = `
  SELECT id, key, name, type, state->'options' AS options FROM ${fields.table} WHERE organization_id = $1
  ORDER BY created_at, id`;

@Injectable()
export class CustomFields {
  private readonly keys: BatchLoader<string, ReadonlyMap<string, string>>;

  constructor(
    private readonly source: DataSource,
    private readonly records: RecordReader,
  ) {
    this.keys = new BatchLoader<string, ReadonlyMap<string, string>>(
      async (organizationIds) => {
        const rows = await source.query<{ organization_id: string; ids: string[]; keys: string[] }[]>(KEYS, [
          organizationIds,
        ]);
        return new Map(
          rows.map(({ organization_id, ids, keys }) => [
            organization_id,
            new Map(ids.map((id, n) => [id, keys[n]!])),
          ]),
        );
      },
      (organizationId) => organizationId,
      MOST_AT_ONCE,
    );
  }

  /**
   * Replaces the ids of fields by their keys, and removes the values of deleted fields. One query for all records; none
   * if no record has a value. Nothing is cached, so an instance is never unaware of a field that another one created
   * or deleted.
   *
   * @param past names them as they were then. Undefined for the present.
   * @returns the records themselves.
   */
  async name<One extends WithValues>(
    organizationId: string,
    records: readonly One[],
    past?: Past,
  ): Promise<readonly One[]> {
    const valued = records.filter(({ customFields }) => Object.keys(customFields).length > 0);
    if (valued.length === 0) return records;
    const keys = past
      ? await this.keysAt(
          organizationId,
          valued.flatMap(({ customFields }) => Object.keys(customFields)),
          past,
        )
      : await this.keysOf(organizationId);
    for (const record of valued) record.customFields = namedValues(record.customFields, keys);
    return records;
  }

  /**
   * Checks values for a contact.
   *
   * @param at the path of the contact in the input: `contact.`
   * @returns nothing if none are given, to spread into the fields of a contact.
   * @throws RpcError BAD_REQUEST naming each invalid value and each unknown key.
   */
  async read(
    organizationId: string,
    given: GivenValues | null | undefined,
    at = '',
  ): Promise<{ customFields?: ValueChanges }> {
    if (!given || Object.keys(given).length === 0) return {};
    const { values, issues } = readValues(await this.definitions(organizationId), given);
    if (issues.length > 0) throw invalid(issues.map(({ path, message }) => ({ path: at + path, message })));
    return { customFields: values };
  }

  /** All fields, the oldest first. */
  definitions(organizationId: string): Promise<FieldDefinition[]> {
    return this.source.query<FieldDefinition[]>(DEFINITIONS, [organizationId]);
  }

  /** The keys of all fields by their ids, the oldest first. */
  async keysOf(organizationId: string): Promise<ReadonlyMap<string, string>> {
    return (await this.keys.load(organizationId)) ?? new Map<string, string>();
  }

  /** The keys of the fields that existed then, by their ids, the oldest first. */
  async keysAt(
    organizationId: string,
    ids: readonly string[],
    past: Past,
  ): Promise<ReadonlyMap<string, string>> {
    const looked = await Promise.all(
      [...new Set(ids)].map(async (id) => ({
        id,
        ...(await this.records.look(field, organizationId, id, past)),
      })),
    );
    return new Map(
      looked
        .sort((one, other) => Number(one.createdAt) - Number(other.createdAt) || (one.id < other.id ? -1 : 1))
        .flatMap(({ id, state }) => (state.status === 'active' ? [[id, state.key] as const] : [])),
    );
  }
}

/** @param keys by the id of the field, in the order of the response. */
export function namedValues(
  values: WithValues['customFields'],
  keys: ReadonlyMap<string, string>,
): WithValues['customFields'] {
  const named: WithValues['customFields'] = {};
  for (const [id, key] of keys) if (Object.hasOwn(values, id)) named[key] = values[id]!;
  return named;
}
