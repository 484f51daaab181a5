export { type AppendCommand, type AppendResult, GivenUp, type Guard, type StreamWrite } from './append.js';
export { canonical } from './canonical.js';
export { begunBy, fold, type Decider, type Folded, isKnown, initialState } from './decider.js';
export { countEvents, mostFrequent } from './history-query.js';
export { readSignedIds, signIds } from './signed-ids.js';
export { eventDigest } from './digest.js';
export {
  type Actor,
  type DomainEvent,
  isObject,
  type Json,
  type JsonObject,
  type RecordedEvent,
  type Seal,
  streamIdOf,
} from './event.js';
export { UnreadablePersonalData, type EventRow } from './event-rows.js';
export { isNotEnded, wrappedKeyOf } from './event-queries.js';
export { EventStore, type Past, type StreamNow, type Until } from './event-store.js';
export { type KeyCheck, Keyring, type KeyringFault } from './keyring.js';
export {
  open as openBytes,
  openValue,
  seal as sealBytes,
  sealValue,
  WITHHELD,
  withoutSalt,
} from './personal-data.js';
export { Pulse } from './pulse.js';
export { Rewrapping } from './rewrapping.js';
export {
  type Cast,
  DamagedEvent,
  NewerEvent,
  readSchema,
  upcast,
  type Upcasters,
  writtenSchema,
} from './upcasting.js';
