import { handlerOf, Operation, RecordInput, textOrNull } from '#libs/rpc';
import { NDJSON, PROBLEM_COLUMN } from '../imported-contacts.js';
import { ImportProblems } from './import-problems.js';
import { SCOPE } from './import-plan.js';

@Operation({
  name: 'import.get-import-problems',
  object: 'problems',
  scope: SCOPE,
  summary: 'Get the rows that failed',
  description:
    `Streams the failed rows with their original columns and \`${PROBLEM_COLUMN}\`, the reason. Correct them and ` +
    `import the file again: imports ignore \`${PROBLEM_COLUMN}\`. The rows of a table are returned as CSV in ` +
    'UTF-8, those of an NDJSON file as NDJSON. Rows of contacts that have since been erased are omitted.',
  answers: { type: 'object', properties: { [PROBLEM_COLUMN]: textOrNull } },
  answerTypes: ['text/csv', NDJSON],
})
export class GetImportProblems extends RecordInput('importId') {}

export const GetImportProblemsHandler = handlerOf(
  GetImportProblems,
  [ImportProblems],
  ({ organizationId, importId }, problems) =>
    problems.file(organizationId, importId, { column: PROBLEM_COLUMN }),
);
