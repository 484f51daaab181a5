import { Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { type Upcasters } from '#libs/event-store';
import { type Projection, type Replayable } from '#libs/projections';
import { type Resource } from '#libs/resources';
import { type InputClass, operationsAmong, operationsModule, type Reasons } from '#libs/rpc';
import { type Subscription, type Timer } from '#libs/subscriptions';

/** A type of streams, and the event types that this version of the program knows in them. */
export type StreamKind = {
  readonly streamType: string;
  readonly events: { readonly [type: string]: true };
  readonly isInternal?: true;
};

/** Work that an instance does in the background, from startup until it is stopped. */
export interface BackgroundWork {
  start(): void;
  /** Finishes or aborts work in progress within a few seconds. */
  stop(): Promise<void>;
}

/** What each service of the API (`contact` of `contact.get-contact`) is for, in a sentence for its users. */
type Services = Readonly<Record<string, string>>;

export type Parts = {
  operations: readonly InputClass[];
  services: Services;
  reasons: readonly Reasons[];
  streams: readonly StreamKind[];
  projections: readonly Projection[];
  replayables: readonly Replayable[];
  /** Providers of the module that declared them. */
  subscriptions: readonly Type<Subscription>[];
  timers: readonly Type<Timer>[];
  background: readonly Type<BackgroundWork>[];
  upcasters: Upcasters;
};

type Declaration = ModuleMetadata & {
  /** The exports of its `operations.ts`. */
  operations: object;
  /** For services that begin in this module. */
  services?: Services;
  /** The reasons for errors that only its operations return. */
  reasons?: Reasons;
  /** Kinds of records. Their streams, projections and links are declared with them. */
  resources?: readonly Resource[];
  /** Streams and projections that belong to no resource. */
  streams?: readonly StreamKind[];
  projections?: readonly Projection[];
  replayables?: readonly Replayable[];
  /** Providers of the module that handle events: see docs/internals/extending.md, "Add a subscription". */
  subscriptions?: readonly Type<Subscription>[];
  /** Providers of the module that run at set times, or all the time. */
  timers?: readonly Type<Timer>[];
  background?: readonly Type<BackgroundWork>[];
  /**
   * For events whose shape has changed or will change: see docs/internals/extending.md, "Add an
   * event".
   */
  upcasters?: Upcasters;
};

const PARTS = Symbol('parts');
const declared: object[] = [];

/** A Nest module of operations, with everything it adds to the product: see `partsOf`. */
export function ProductModule({
  operations,
  services = {},
  reasons = {},
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
    services,
    reasons: [reasons],
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
    declared.push(target);
    Object.defineProperty(target, PARTS, { value: parts });
  };
}

export function modulesAmong(exports: object): Type[] {
  return (Object.values(exports) as Type[]).toSorted(
    (one, other) => declared.indexOf(one) - declared.indexOf(other),
  );
}

/** Combines the parts of these modules. @throws Error if a module is not a `ProductModule`. */
export function partsOf(modules: readonly Type[]): Parts {
  const all = modules.map((module) => {
    const parts = (module as { [PARTS]?: Parts })[PARTS];
    if (!parts)
      throw new Error(`${module.name} is not a module of the product: declare it with @ProductModule.`);
    return parts;
  });
  return {
    operations: all.flatMap(({ operations }) => operations),
    services: Object.assign({}, ...all.map(({ services }) => services)) as Services,
    reasons: all.flatMap(({ reasons }) => reasons),
    streams: all.flatMap(({ streams }) => streams),
    projections: all.flatMap(({ projections }) => projections),
    replayables: all.flatMap(({ replayables }) => replayables),
    subscriptions: all.flatMap(({ subscriptions }) => subscriptions),
    timers: all.flatMap(({ timers }) => timers),
    background: all.flatMap(({ background }) => background),
    upcasters: Object.assign({}, ...all.map(({ upcasters }) => upcasters)) as Upcasters,
  };
}
