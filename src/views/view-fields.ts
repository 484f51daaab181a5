import {
  fieldsOf,
  findOperation,
  Input,
  invalid,
  Keyed,
  Names,
  operationNamed,
  parseInput,
  RpcError,
  Text,
} from '#libs/rpc';
import { type Parameters } from './view.js';

/**
 * Parameters of lists that views do not store: those of a single request, and those with data about people. Events are not
 * encrypted without a person whose key encrypts them.
 */
const NOT_STORED = ['organizationId', 'asOf', 'cursor', 'limit', 'include', 'q', 'email', 'externalId'];

/** The fields shared by create-view and update-view, all optional. */
export abstract class ViewFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'Subscribers in Berlin' })
  name?: string;

  @Keyed({
    maxBytes: 8 * 1024,
    values: { type: 'string' },
    optional: true,
    description:
      'The filters of the list, and its `sort`, as you would write them in its query. `q`, `email` and ' +
      '`externalId` are not possible: views remain in the history and are never erased, so do not name anyone in them.',
    example: { city: 'Berlin', subscribed: 'true', sort: 'email' },
  })
  parameters?: Parameters;

  @Names({
    optional: true,
    max: 50,
    longest: 200,
    description:
      'The columns that the dashboard shows for contacts: fields of a contact, and custom fields such as ' +
      '`customFields.shoeSize`. Empty for the usual ones. Columns that do not exist are ignored.',
    example: ['email', 'city'],
  })
  columns?: string[];
}

/** The parameters of a list that views store. */
export function storedParameters(operation: string): string[] {
  return [...fieldsOf(operationNamed(operation)).keys()].filter((name) => !NOT_STORED.includes(name));
}

/** @throws RpcError BAD_REQUEST with one issue per parameter that the operation would reject. */
export function requireParameters(operation: string, parameters: Parameters): void {
  if (findOperation(operation)?.list !== true) {
    throw invalid([
      {
        path: 'operation',
        message: 'must be an operation that lists records, such as contact.list-contacts',
      },
    ]);
  }
  const wrong = Object.entries(parameters).flatMap(([name, value]) => {
    const path = `parameters.${name}`;
    if (NOT_STORED.includes(name)) return [{ path, message: 'cannot be saved in a view' }];
    return typeof value === 'string' ? [] : [{ path, message: 'must be a string' }];
  });
  if (wrong.length > 0) throw invalid(wrong);
  try {
    parseInput(operationNamed(operation), parameters, 'query');
  } catch (error) {
    if (!(error instanceof RpcError) || !error.details.issues) throw error;
    throw invalid(error.details.issues.map((issue) => ({ ...issue, path: `parameters.${issue.path}` })));
  }
}
