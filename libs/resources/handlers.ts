import { type Type } from '@nestjs/common';
import { type DomainEvent } from '#libs/event-store';
import { type Condition } from '#libs/projections';
import { handlerOf, type Input, type InputClass } from '#libs/rpc';
import { Linking } from './linking.js';
import { ResourceCommands } from './resource-commands.js';
import { type Resource } from './resource.js';
import { type ListQuery, Resources } from './resources.js';

/** The handler of an operation that creates a record. @param event returns the new record's first event. */
export function createHandler<Command extends Input & { name: string }, Event extends DomainEvent>(
  input: InputClass<Command>,
  resource: Resource<object, Event>,
  event: (command: Command) => NoInfer<Event>,
): Type {
  return handlerOf(input, [ResourceCommands], (command, commands) =>
    commands.create(resource, command, event(command)),
  );
}

/** The handler of an operation that creates a copy of a record. @param event returns the copy's first event. */
export function duplicateHandler<
  State extends object,
  Command extends Input & { name: string },
  Event extends DomainEvent,
>(
  input: InputClass<Command>,
  resource: Resource<State, Event>,
  event: (state: State, command: Command) => NoInfer<Event>,
): Type {
  return handlerOf(input, [ResourceCommands], (command, commands) =>
    commands.duplicate(resource, command, (state) => event(state, command)),
  );
}

/** The handler of an operation that returns a record, or its past state at `asOf`. */
export function getHandler(input: InputClass, resource: Resource): Type {
  return handlerOf(input, [Resources], (query, resources) => resources.get(resource, query));
}

/** The handler of an operation that returns a page of records. */
export function listHandler<Query extends Input & ListQuery>(
  input: InputClass<Query>,
  resource: Resource,
  conditions: (query: Query) => readonly (Condition | undefined)[],
): Type {
  return handlerOf(input, [Resources], (query, resources) =>
    resources.list(resource, query, conditions(query)),
  );
}

/** The handler of an operation that changes a record and returns it. */
export function changeHandler<Command extends Input, State extends object, Event extends DomainEvent>(
  input: InputClass<Command>,
  resource: Resource<State, Event>,
  decide: (state: State, command: Command) => NoInfer<Event>[],
): Type {
  return handlerOf(input, [ResourceCommands], (command, commands) =>
    commands.change(resource, command, (state) => decide(state, command)),
  );
}

export function deleteHandler<State extends object, Event extends DomainEvent>(
  input: InputClass,
  resource: Resource<State, Event>,
  decide: (state: State) => NoInfer<Event>[],
): Type {
  return handlerOf(input, [ResourceCommands], (command, commands) => commands.end(resource, command, decide));
}

/** The handler of an operation that links a record to people and returns it. */
export const linkHandler = linkingHandler('add');

/** The handler of an operation that removes such links and returns the record. */
export const unlinkHandler = linkingHandler('remove');

function linkingHandler(method: 'add' | 'remove') {
  return <Command extends Input>(
    input: InputClass<Command>,
    resource: Resource,
    subjectIds: (command: Command) => readonly string[],
  ): Type =>
    handlerOf(input, [Linking, ResourceCommands], async (command, linking, commands) => {
      const outcome = await linking[method](resource, command, subjectIds(command));
      return commands.look(resource, command, outcome);
    });
}
