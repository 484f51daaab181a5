import { type Type } from '@nestjs/common';
import { CommandHandler, QueryHandler } from '@nestjs/cqrs';
import { type DomainEvent } from '#libs/event-store';
import { type Condition } from '#libs/projections';
import { type Input, type InputClass } from '#libs/rpc';
import { Linking } from './linking.js';
import { ResourceCommands } from './resource-commands.js';
import { type Resource } from './resource.js';
import { type ListQuery, Resources } from './resources.js';

/** Of an operation that creates a record. @param event the first of the new record. */
export function createHandler<Command extends Input & { name: string }, Event extends DomainEvent>(
  input: InputClass<Command>,
  resource: Resource<object, Event>,
  event: (command: Command) => NoInfer<Event>,
): Type {
  @CommandHandler(input)
  class Handler {
    constructor(readonly commands: ResourceCommands) {}

    execute(command: Command): Promise<object> {
      return this.commands.create(resource, command, event(command));
    }
  }
  return Handler;
}

/** Of an operation that answers the record that its input names, with `asOf` as it was. */
export function getHandler(input: InputClass, resource: Resource): Type {
  @QueryHandler(input)
  class Handler {
    constructor(readonly resources: Resources) {}

    execute(query: Input): Promise<object> {
      return this.resources.get(resource, query);
    }
  }
  return Handler;
}

/** Of an operation that answers a page of records. */
export function listHandler<Query extends Input & ListQuery>(
  input: InputClass<Query>,
  resource: Resource,
  conditions: (query: Query) => readonly (Condition | undefined)[],
): Type {
  @QueryHandler(input)
  class Handler {
    constructor(readonly resources: Resources) {}

    execute(query: Query): Promise<object> {
      return this.resources.list(resource, query, conditions(query));
    }
  }
  return Handler;
}

/** Of an operation that changes the record that its input names, and answers it. */
export function changeHandler<Command extends Input, State extends object, Event extends DomainEvent>(
  input: InputClass<Command>,
  resource: Resource<State, Event>,
  decide: (state: State, command: Command) => NoInfer<Event>[],
): Type {
  @CommandHandler(input)
  class Handler {
    constructor(readonly commands: ResourceCommands) {}

    execute(command: Command): Promise<object> {
      return this.commands.change(resource, command, (state) => decide(state, command));
    }
  }
  return Handler;
}

/** Of an operation that deletes the record that its input names. */
export function deleteHandler<State extends object, Event extends DomainEvent>(
  input: InputClass,
  resource: Resource<State, Event>,
  decide: (state: State) => NoInfer<Event>[],
): Type {
  @CommandHandler(input)
  class Handler {
    constructor(readonly commands: ResourceCommands) {}

    execute(command: Input): Promise<object> {
      return this.commands.end(resource, command, decide);
    }
  }
  return Handler;
}

/** Of an operation that links the record that its input names to persons, and answers it. */
export const linkHandler = linkingHandler('add');

/** Of an operation that takes such links away, and answers the record. */
export const unlinkHandler = linkingHandler('remove');

function linkingHandler(does: 'add' | 'remove') {
  return <Command extends Input>(
    input: InputClass<Command>,
    resource: Resource,
    subjectIds: (command: Command) => readonly string[],
  ): Type => {
    @CommandHandler(input)
    class Handler {
      constructor(
        readonly linking: Linking,
        readonly commands: ResourceCommands,
      ) {}

      async execute(command: Command): Promise<object> {
        const outcome = await this.linking[does](resource, command, subjectIds(command));
        return this.commands.look(resource, command, outcome);
      }
    }
    return Handler;
  };
}
