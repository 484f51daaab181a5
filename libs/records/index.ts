export { readCsv, readNdjson, type ReadRecord, writeCsv, writeNdjson } from './records.js';
