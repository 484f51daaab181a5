import { Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { type Upcasters } from '#libs/event-store';
import { type Projection, type Replayable } from '#libs/projections';
import { type Resource } from '#libs/resources';
import { type InputClass, operationsAmong, operationsModule } from '#libs/rpc';
import { type Subscription, type Timer } from '#libs/subscriptions';

/** A kind of streams, and the types of events that this version of the program knows in them. */
export type StreamKind = { readonly streamType: string; readonly events: { readonly [type: string]: true } };

/** Work that an instance does beside its requests, from its start until it is asked to stop. */
export interface BackgroundWork {
  start(): void;
  /** Ends what is under way in order, within a few seconds. */
  stop(): Promise<void>;
}

/** What a module brings into the product, all of it. */
export type Parts = {
  operations: readonly InputClass[];
  streams: readonly StreamKind[];
  projections: readonly Projection[];
  replayables: readonly Replayable[];
  /** Providers of the module that made them. */
  subscriptions: readonly Type<Subscription>[];
  timers: readonly Type<Timer>[];
  background: readonly Type<BackgroundWork>[];
  upcasters: Upcasters;
};

type Declaration = ModuleMetadata & {
  /** The exports of its `operations.ts`. */
  operations: object;
  /** Kinds of records: their streams, read models and links need no other line. */
  resources?: readonly Resource[];
  /** What is no resource's. */
  streams?: readonly StreamKind[];
  projections?: readonly Projection[];
  replayables?: readonly Replayable[];
  /** What reacts to events: see docs/internals/extending.md, "Add a reaction". They are providers of the module. */
  subscriptions?: readonly Type<Subscription>[];
  /** What happens at a time; and what goes on all the time. They are providers of the module, too. */
  timers?: readonly Type<Timer>[];
  background?: readonly Type<BackgroundWork>[];
  /** Of the events that have or will have another shape than the first: see docs/internals/extending.md, "Add an event". */
  upcasters?: Upcasters;
};

const PARTS = Symbol('parts');

/** A Nest module of operations, with all that it brings into the product: see `partsOf`. */
export function ProductModule({
  operations,
  resources = [],
  streams = [],
  projections = [],
  replayables = [],
  subscriptions = [],
  timers = [],
  background = [],
  upcasters = {},
  controllers = [],
  providers = [],
  ...metadata
}: Declaration): ClassDecorator {
  const served = operationsModule(operations);
  const nest = {
    ...metadata,
    controllers: [...served.controllers!, ...controllers],
    providers: [...served.providers!, ...subscriptions, ...timers, ...background, ...providers],
  };
  const parts: Parts = {
    operations: operationsAmong(operations),
    streams: [
      ...resources.flatMap(({ decider, link }) => [decider, ...(link ? [link.decider] : [])]),
      ...streams,
    ],
    projections: [...resources.map(({ projection }) => projection), ...projections],
    replayables: [...resources.map(({ replayable }) => replayable), ...replayables],
    subscriptions,
    timers,
    background,
    upcasters,
  };
  return (target) => {
    Module(nest)(target);
    Object.defineProperty(target, PARTS, { value: parts });
  };
}

/** What these modules bring, together. @throws Error where one of them is no `ProductModule`. */
export function partsOf(modules: readonly Type[]): Parts {
  const all = modules.map((module) => {
    const parts = (module as { [PARTS]?: Parts })[PARTS];
    if (!parts)
      throw new Error(`${module.name} is no module of the product: declare it with @ProductModule.`);
    return parts;
  });
  return {
    operations: all.flatMap(({ operations }) => operations),
    streams: all.flatMap(({ streams }) => streams),
    projections: all.flatMap(({ projections }) => projections),
    replayables: all.flatMap(({ replayables }) => replayables),
    subscriptions: all.flatMap(({ subscriptions }) => subscriptions),
    timers: all.flatMap(({ timers }) => timers),
    background: all.flatMap(({ background }) => background),
    upcasters: Object.assign({}, ...all.map(({ upcasters }) => upcasters)) as Upcasters,
  };
}
