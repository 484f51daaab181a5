export { eventRecord, type EventRecord } from './event-record.js';
export { findEvent } from './get-event.js';
export { recordSuccession } from './signing-key.js';
export { HistoryReads } from './history-reads.js';
export { ExportEvents, ExportEventsHandler } from './export-events.js';
export { inNewestShape, parseExported, readExported } from './exported-event.js';
export { HistoryModule } from './history.module.js';
export { nameOfLogPath } from './log.controller.js';
