import { NO_DETAILS } from '../contact.js';
import { otherMailbox, phoneKey, sharedBy } from './duplicate-keys.js';

it.each<[object, object, string[]]>([
  [{}, {}, []],
  [
    { firstName: 'Ada', lastName: 'Lovelace', zip: 'SW1 4' },
    { firstName: 'ADA', lastName: 'lovelace', zip: 'sw14' },
    ['NAME_AND_ZIP'],
  ],
  [{ firstName: 'Ada', lastName: 'Lovelace' }, { firstName: 'Ada', lastName: 'Lovelace' }, []],
  [
    { firstName: 'Ada', lastName: 'Lovelace', zip: '1' },
    { firstName: 'Ada', lastName: 'Byron', zip: '1' },
    [],
  ],
  [{ phone: '+49 30 901820-11' }, { mobile: '(030) 90182011' }, ['PHONE']],
  [{ phone: '12345' }, { phone: '12345' }, []],
  [{ email: 'ada+news@example.org' }, { email: 'Ada@example.org' }, ['EMAIL']],
  [{ email: 'a.da@gmail.com' }, { email: 'ada@googlemail.com', phone: '123' }, ['EMAIL']],
])('%j and %j share %j', (one, other, reasons) => {
  expect(sharedBy({ ...NO_DETAILS, ...one }, { ...NO_DETAILS, ...other })).toEqual(reasons);
});

it('equal phone numbers have the same key, whatever their form', () => {
  expect(phoneKey('+44 20 7946 0018')).toBe(phoneKey('020 79460018'));
  expect(phoneKey('020 79460018')).not.toBe(phoneKey('020 79460019'));
  expect(phoneKey('n/a')).toBe(null);
});

it('an address in its simplest form has no other mailbox', () => {
  expect(otherMailbox('ada@example.org')).toBe(null);
  expect(otherMailbox('ada+news@example.org')).toBe('ada@example.org');
});
