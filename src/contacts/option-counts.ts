import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryWide } from '#libs/database';
import { OptionUse } from '../fields/index.js';
import { CONTACTS_TABLE } from './contacts.projection.js';
import { jsonWithoutCase } from './filters/folded-text.js';

/** A value may be one option or a list of them. The join uses the index of custom values for each. */
export const COUNT_OPTIONS = `
  SELECT count(DISTINCT c.id)::int AS count FROM unnest($2::jsonb[]) AS wanted(value)
  JOIN ${CONTACTS_TABLE} c ON c.organization_id = $1 AND ${jsonWithoutCase('c.custom_fields')} @> ${jsonWithoutCase('wanted.value')}
    AND c.custom_fields @> wanted.value`;

@Injectable()
export class OptionCounts implements OnModuleInit {
  constructor(
    private readonly source: DataSource,
    private readonly use: OptionUse,
  ) {}

  onModuleInit(): void {
    this.use.countBy(async (organizationId, fieldId, options) => {
      const values = options.flatMap((option) => [{ [fieldId]: option }, { [fieldId]: [option] }]);
      const [row] = await queryWide<{ count: number }>(this.source, organizationId, 'page', COUNT_OPTIONS, [
        organizationId,
        values.map((value) => JSON.stringify(value)),
      ]);
      return row!.count;
    });
  }
}
