/* The lines of an export, for store*.c alone: what both directions know of their form. */
#ifndef KF_STORE_LINES_H
#define KF_STORE_LINES_H

#include "tuner/store_db.h"
#include "tuner/store_exchange.h"

enum { LINES_VERSION = 1, LINES_LONGEST = 32 << 20 /* bytes */, LINES_BINARY = 8 << 20 };

/* `,"sum":"` and 16 digits and `"}`: what every line ends with; the sum is of the bytes before it. */
enum { LINES_TAIL = 8 + 16 + 2 };
void lines_tail(const char *line, size_t length, char tail[LINES_TAIL + 1]);

/* Passes a result on to the store of those from elsewhere, unless this store knows as much. SQLite's
 * code. */
int exchange_take(Store *store, const Put *put, Exchange *exchange);
/* One transaction around exchange_take. False: nothing can be kept, and `why` says so. */
bool exchange_begin(Store *store, Exchange *exchange);
ExchangeStatus exchange_end(Store *store, ExchangeStatus status, int rc, Exchange *exchange);

#endif
