import { ReadSource } from '#libs/database';
import { Resources } from '#libs/resources';
import { handlerOf, Id, Input, jsonIn, noSuch, Operation, recordSchema, Text } from '#libs/rpc';
import { contactSchema, ContactsTable, type Filter, filterSql } from '../contacts/index.js';
import { FilterReader } from './filter-reader.js';
import { segments } from './segments.js';

const MOST_COUNTED = 1_000_000;
const SHOWN = 25;

@Operation({
  name: 'segment.preview-segment',
  object: 'segment-preview',
  summary: 'Count the contacts of a segment',
  description:
    'Counts the contacts of a segment, or of a filter that you have not saved, and returns the ' +
    `${SHOWN} newest. To list all, use contact.list-contacts with \`segmentId\`.`,
  answers: recordSchema({
    count: { type: 'integer', maximum: MOST_COUNTED, description: 'The current number of contacts.' },
    isExact: {
      type: 'boolean',
      description: `False if there are more than ${MOST_COUNTED.toLocaleString('en')}, which is then the count.`,
    },
    contacts: { type: 'array', items: contactSchema, maxItems: SHOWN },
  }),
  exactlyOne: ['segmentId', 'filter'],
  fieldScopes: { segmentId: 'contact:read', filter: 'contact:read' },
})
export class PreviewSegment extends Input {
  @Id({ optional: true, description: 'Either this or `filter` is required.' })
  segmentId?: string;

  @Text({ max: 10_000, optional: true, description: 'A filter as JSON, with the rules of create-segment.' })
  filter?: string;
}

export const PreviewSegmentHandler = handlerOf(
  PreviewSegment,
  [ReadSource, Resources, ContactsTable, FilterReader],
  async (query, reads, resources, table, filters) => {
    const { organizationId } = query;
    const filter = await filterOf(query, resources, filters);
    const [count, contacts] = await Promise.all([
      table.count(
        reads,
        { organizationId },
        [{ write: (bind) => filterSql(filter, { bind }) }],
        MOST_COUNTED + 1,
      ),
      table.newest(reads, organizationId, filter, SHOWN),
    ]);
    return { count: Math.min(count, MOST_COUNTED), isExact: count <= MOST_COUNTED, contacts };
  },
);

async function filterOf(
  { organizationId, context, segmentId, filter: text }: PreviewSegment,
  resources: Resources,
  filters: FilterReader,
): Promise<Filter> {
  if (segmentId !== undefined) {
    const record = await resources.findAt(segments, organizationId, segmentId);
    if (!record) throw noSuch('segment');
    return record.filter as Filter;
  }
  const filter = await filters.read(organizationId, jsonIn('filter', text!));
  await filters.requireNamed(filter, context);
  return filter;
}
