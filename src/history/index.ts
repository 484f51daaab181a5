export { historyAccess } from './access.js';
export { ExportEvents } from './export-events.js';
export { inNewestShape, parseExported, readExported } from './exported-event.js';
export { HistoryModule } from './history.module.js';
