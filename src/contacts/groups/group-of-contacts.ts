import { type Type } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type Condition, search, SEARCH_RULE } from '#libs/projections';
import {
  changeHandler,
  createHandler,
  deleteHandler,
  getHandler,
  linkHandler,
  type ListQuery,
  Resource,
  Resources,
  unlinkHandler,
} from '#libs/resources';
import { addGroupWords, type DashboardLanguage, type GroupWords } from '#locales';
import {
  type FieldSchema,
  handlerOf,
  Id,
  Ids,
  Input,
  type InputClass,
  Operation,
  PageInput,
  recordSchema,
  recordVersion,
  Text,
  textOrNull,
  Timestamp,
  timestamp,
} from '#libs/rpc';
import { contactLink } from '../contact-links.js';
import { contact, existingContact } from '../contact.js';
import { chooseContactsBy } from '../filters/contact-filters.js';
import { includeInContacts } from '../parts/contact-parts.js';
import { assignContactsTo } from './assigned-groups.js';
import { capitalized, type Group, groupDecider, type GroupDecider } from './group.js';

/** Sentences of the API's documentation. */
type OperationText = { summary: string; description: string };

/** A further field of a group, in addition to name and description. It may be left out and cleared with `null`. */
type GroupField = { decorator: PropertyDecorator; schema: FieldSchema };

export type GroupDeclaration = {
  /** The name of one group, such as `list`: its service, its stream type and the prefix of its events. */
  kind: string;
  /** The version of the projection. */
  version: number;
  name: { max: number; example: string };
  description: { max: number };
  fields?: Readonly<Record<string, GroupField>>;
  /** How a contact belongs to a group. It ends when the contact is removed or erased. */
  link: { streamType: string; begins: string; ends: string; uniqueKey: string; table: string };
  /** How create-contact, update-contact and add-signature name groups: `tags: [name]` or `listIds: [id]`. */
  assignedBy: 'name' | 'id';
  /** Texts of the dashboard. Omitted if `locales` contains them. */
  words?: Record<DashboardLanguage, GroupWords>;
  texts: {
    /** Of the `contacts` field. */
    count: string;
    /** Of the filter of contacts. */
    filter: string;
    /** See `chooseContactsBy`. */
    members: string;
    deletion: string;
    add: OperationText;
    remove: OperationText;
  };
};

type CreateGroup = Input & { name: string; description?: string | null };
/** With the id of the group: `listId`. */
type GroupMembers = Input & { contactIds: string[]; [idField: `${string}Id`]: string };

/** A declared kind of groups, with everything that its module brings into the product. */
export type GroupKind = {
  kind: string;
  assignedBy: GroupDeclaration['assignedBy'];
  fields: Readonly<Record<string, GroupField>>;
  /** The type of the streams of its members, and the events in them. */
  link: GroupDeclaration['link'];

  decider: GroupDecider;
  resource: Resource<Group>;
  /** Inputs and their handlers, in the order of the documentation. */
  operations: Readonly<Record<string, Type>>;
  Create: InputClass<CreateGroup>;
  Add: InputClass<GroupMembers>;
};

/**
 * A kind of records that are named groups of contacts, such as lists and tags. Its declaration yields seven operations, events,
 * a table, exact counts, and a filter of contacts.
 */
export function groupOfContacts(declared: GroupDeclaration): GroupKind {
  const { kind, version, link, texts, words, fields = {} } = declared;
  const idField = `${kind}Id`;
  const decider = groupDecider(kind);
  const answers = recordSchema({
    id: { type: 'string' },
    createdAt: timestamp,
    updatedAt: timestamp,
    version: recordVersion,
    name: { type: 'string' },
    description: textOrNull,
    ...Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
    organizationId: { type: 'string' },
    contacts: { type: 'integer', description: texts.count },
  });
  const idSchema = recordSchema({ [idField]: { type: 'string' } });
  const { table, ...linked } = link;
  const resource = new Resource<Group>({
    object: kind,
    decider,
    existing: (state) => (state.status === 'standing' ? state : undefined),
    answers,
    version,
    columns: { name: { type: 'text', index: true, search: true } },
    counts: { link: contactLink({ record: kind, ...linked, atErasure: 'ends' }), field: 'contacts', table },
  });
  chooseContactsBy(resource, texts);
  assignContactsTo({
    field: declared.assignedBy === 'name' ? `${kind}s` : `${kind}Ids`,
    by: declared.assignedBy,
    longestName: declared.name.max,
    emptyFields: { description: null, ...emptyOf(fields) },
    resource,
    decider,
  });
  includeInContacts(`${kind}s`, {
    scope: `${kind}:read`,
    schema: answers,
    page: ({ resources }, { contactId, ...query }) =>
      resources.list(resource, { ...query, sort: '-createdAt' }, [resources.linkedFrom(resource, contactId)]),
  });

  const named = (operation: string) => `${kind}.${operation}` as const;
  /** The fields of a command that belong to the group. */
  const givenIn = (command: object) =>
    Object.fromEntries(
      ['name', 'description', ...Object.keys(fields)].flatMap((name) => {
        const value = (command as Record<string, string | null | undefined>)[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  const { max, example } = declared.name;
  const optional = { optional: true, nullable: true } as const;

  class Create extends Input {
    @Text({ max, example })
    name!: string;

    @Text({ max: declared.description.max, ...optional })
    description?: string | null;
  }
  class Existing extends Input {}
  Id()(Existing.prototype, idField);

  class Get extends Existing {
    @Timestamp({ optional: true, description: `Returns the ${kind} as it was at this time.` })
    asOf?: string;
  }
  class List extends PageInput('name') {
    @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
    q?: string;

    @Id({ optional: true, description: `Only the ${kind}s of this contact.` })
    contactId?: string;
  }
  class Update extends Existing {
    @Text({ max, optional: true })
    name?: string;

    @Text({ max: declared.description.max, ...optional })
    description?: string | null;
  }
  class Delete extends Existing {}
  class Members extends Existing {
    @Ids({ max: 1_000 })
    contactIds!: string[];
  }
  class Add extends Members {}
  class Remove extends Members {}
  for (const [name, { decorator }] of Object.entries(fields))
    for (const input of [Create, Update]) decorator(input.prototype, name);

  Operation({
    name: named(`create-${kind}`),
    summary: `Create a ${kind}`,
    description:
      `A new ${kind} has no contacts. Sending the same body again returns the first ${kind}, as long as it exists and ` +
      'still has that name. To create an identical one, send an `Idempotency-Key`.',
    answers: idSchema,
  })(Create);
  Operation({
    name: named(`get-${kind}`),
    summary: `Retrieve a ${kind}`,
    description: `To list its contacts, use contact.list-contacts with \`${idField}\`.`,
    answers,
  })(Get);
  Operation({
    name: named(`list-${kind}s`),
    summary: `List ${kind}s`,
    answers,
    list: true,
    reasons: ['MERGED'],
    fieldScopes: { contactId: 'contact:read' },
  })(List);
  Operation({
    name: named(`update-${kind}`),
    summary: `Update a ${kind}`,
    description: 'Changes only the fields you send; `null` clears the description.',
    answers,
  })(Update);
  Operation({
    name: named(`delete-${kind}`),
    summary: `Delete a ${kind}`,
    description: texts.deletion,
    answers: idSchema,
  })(Delete);
  Operation({ name: named('add-contacts'), object: kind, ...texts.add, answers })(Add);
  Operation({ name: named('remove-contacts'), object: kind, ...texts.remove, answers })(Remove);

  const operations = {
    Create,
    CreateHandler: createHandler(Create, resource, (command) =>
      decider.create({ description: null, ...emptyOf(fields), ...givenIn(command) }),
    ),
    Get,
    GetHandler: getHandler(Get, resource),
    List,
    ListHandler: listOfContactHandler(List, resource),
    Update,
    UpdateHandler: changeHandler(Update, resource, (state, command) =>
      decider.update(state, givenIn(command)),
    ),
    Delete,
    DeleteHandler: deleteHandler(Delete, resource, decider.delete),
    Add,
    AddHandler: linkHandler(Add, resource, ({ contactIds }) => contactIds),
    Remove,
    RemoveHandler: unlinkHandler(Remove, resource, ({ contactIds }) => contactIds),
  };
  for (const [role, type] of Object.entries(operations))
    Object.defineProperty(type, 'name', { value: `${capitalized(kind)}${role}` });
  const group = {
    ...{ kind, link, decider, resource, operations, Create, fields, assignedBy: declared.assignedBy },
    Add: Add as unknown as InputClass<GroupMembers>,
  };
  if (words) {
    const { streamType, begins, ends } = link;
    const named = capitalized(kind);
    const own = { created: `${named}Created`, updated: `${named}Updated`, deleted: `${named}Deleted` };
    addGroupWords({ kind, section: `${kind}s`, link: streamType, events: { ...own, begins, ends } }, words);
  }
  groups.push(group);
  for (const listener of listeners) listener(group);
  return group;
}

const groups: GroupKind[] = [];
const listeners: ((group: GroupKind) => void)[] = [];

/** The kinds of groups, in the order of the modules. */
export function groupsOfContacts(): readonly GroupKind[] {
  return groups;
}

/** Calls the listener for each kind of groups, including those that are declared later. */
export function forEachGroupOfContacts(listener: (group: GroupKind) => void): void {
  listeners.push(listener);
  groups.forEach(listener);
}

function listOfContactHandler(
  input: InputClass<Input & ListQuery & { q?: string; contactId?: string }>,
  resource: Resource,
): Type {
  return handlerOf(input, [Resources, RecordReader], async (query, resources, records) => {
    const { organizationId, q, contactId } = query;
    const conditions: (Condition | undefined)[] = [search(['name'], q)];
    if (contactId !== undefined) {
      existingContact((await records.look(contact, organizationId, contactId)).state);
      conditions.push(resources.linkedFrom(resource, contactId));
    }
    return resources.list(resource, query, conditions);
  });
}

const emptyOf = (fields: object) => Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
