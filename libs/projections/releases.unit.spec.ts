import { canServeTogether, describeRelease } from './releases.js';

it.each([
  ['0.6.0', '0.6.0', true],
  ['0.6.0', '0.6.3', true],
  ['0.6.0', '0.5.9', true],
  ['0.6.0', '0.4.9', false],
  ['0.6.0', '0.7.0', true],
  ['0.6.0', '0.8.0', false],
  ['0.9.0', '0.10.0', true],
  ['0.9.0', '0.11.0', false],
  ['0.9.0', '1.0.2', true],
  ['0.9.0', '1.1.0', false],
  ['0.9.0', '2.0.0', false],
  ['unknown', '0.6.0', true],
  ['0.6.0-beta.1', '0.4.0', false],
])('%s and %s can serve together: %s', (one, other, expected) => {
  expect([canServeTogether(one, other), canServeTogether(other, one)]).toEqual([expected, expected]);
});

it('describes a release with its instances and their hosts', () => {
  expect(describeRelease({ release: '0.4.0', instances: 1, hosts: [] })).toBe('1 instance of 0.4.0');
  expect(describeRelease({ release: '0.4.0', instances: 2, hosts: ['api-1', 'api-2'] })).toBe(
    '2 instances of 0.4.0 (api-1, api-2)',
  );
});
