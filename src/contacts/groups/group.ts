import { changedFields } from '#libs/commands';
import { type Decider, type DomainEvent, type JsonObject } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** Name, description and the fields that its kind declares. */
type GroupFields = JsonObject;

export type Group = { status: 'unknown' } | ({ status: 'standing' } & GroupFields) | { status: 'deleted' };

/** The decider of a kind of groups and its decisions. They use no clock, ids or framework. */
export type GroupDecider = Decider<Group, DomainEvent> & {
  create: (fields: GroupFields) => DomainEvent;
  /** Fields that are not given stay unchanged. */
  update: (state: Group, given: GroupFields) => DomainEvent[];
  /** Deleting a deleted group changes nothing. */
  delete: (state: Group) => DomainEvent[];
};

/** @param kind the name of one group, such as `list`; its events are `ListCreated`, `ListUpdated` and `ListDeleted`. */
export function groupDecider(kind: string): GroupDecider {
  const name = capitalized(kind);
  const [created, updated, deleted] = [`${name}Created`, `${name}Updated`, `${name}Deleted`];
  const existing = (state: Group): GroupFields => {
    if (state.status !== 'standing') throw noSuch(kind);
    const { status: _, ...fields } = state;
    return fields;
  };
  return {
    streamType: kind,
    initial: { status: 'unknown' },
    events: { [created]: true, [updated]: true, [deleted]: true },
    evolve(state, { type, data }) {
      if (type === created) return { ...data, status: 'standing' };
      if (state.status !== 'standing') return state;
      if (type === updated) return { ...state, ...data };
      return type === deleted ? { status: 'deleted' } : state;
    },
    create: (fields) => ({ type: created, data: fields }),
    update(state, given) {
      const data = changedFields(existing(state), given) as GroupFields | undefined;
      return data ? [{ type: updated, data }] : [];
    },
    delete(state) {
      if (state.status === 'deleted') return [];
      existing(state);
      return [{ type: deleted, data: {} }];
    },
  };
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
