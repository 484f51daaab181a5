import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

export type Parameters = { [name: string]: string };

export type ViewFields = {
  name: string;
  /** The operation that lists the records. It never changes. */
  operation: string;
  /** Its filters and its order, as in a query. */
  parameters: Parameters;
  /** The columns that the dashboard shows; the usual ones if there are none. */
  columns: string[];
};

export type ViewEvent =
  | { type: 'ViewCreated'; data: ViewFields }
  | { type: 'ViewUpdated'; data: Partial<Omit<ViewFields, 'operation'>> }
  | { type: 'ViewDeleted'; data: Record<string, never> };

type ExistingView = { status: 'EXISTS' } & ViewFields;
export type View = { status: 'UNKNOWN' } | ExistingView | { status: 'DELETED' };

export const view: Decider<View, ViewEvent> = {
  streamType: 'view',
  initial: { status: 'UNKNOWN' },
  events: { ViewCreated: true, ViewUpdated: true, ViewDeleted: true },
  evolve(state, event) {
    if (event.type === 'ViewCreated') return { status: 'EXISTS', ...event.data };
    if (state.status !== 'EXISTS') return state;
    switch (event.type) {
      case 'ViewUpdated':
        return { ...state, ...event.data };
      case 'ViewDeleted':
        return { status: 'DELETED' };
    }
  },
};

/**
 * Fields that are not given stay unchanged.
 *
 * @param check rejects parameters that the view's operation does not have.
 */
export function updateView(
  state: View,
  given: { [Name in 'name' | 'parameters' | 'columns']?: ViewFields[Name] | undefined },
  check: (operation: string, parameters: Parameters) => void,
): ViewEvent[] {
  if (state.status !== 'EXISTS') throw noSuch('view');
  if (given.parameters) check(state.operation, given.parameters);
  const data = changedFields<ViewFields>(state, given);
  return data ? [{ type: 'ViewUpdated', data }] : [];
}

/** Deleting a deleted view changes nothing. */
export function deleteView(state: View): ViewEvent[] {
  switch (state.status) {
    case 'UNKNOWN':
      throw noSuch('view');
    case 'EXISTS':
      return [{ type: 'ViewDeleted', data: {} }];
    case 'DELETED':
      return [];
  }
}
