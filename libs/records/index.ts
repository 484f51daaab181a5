export {
  type CsvOptions,
  delimitersIn,
  readCsv,
  readNdjson,
  type ReadRecord,
  type ReadRow,
  writeCsv,
  writeNdjson,
} from './records.js';
