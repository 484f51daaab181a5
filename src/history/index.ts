export { ExportEvents } from './export-events.js';
export { readExported } from './exported-event.js';
export { HistoryModule } from './history.module.js';
