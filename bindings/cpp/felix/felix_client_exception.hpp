// SPDX-License-Identifier: Apache-2.0

// The exceptions of FelixClientThread.

#ifndef TAGBUS_FELIX_CLIENT_EXCEPTION_HPP
#define TAGBUS_FELIX_CLIENT_EXCEPTION_HPP

#include <stdexcept>
#include <string>

// FelixClientException is the base of the others; what() says what happened, to what, and what to do.
class FelixClientException : public std::runtime_error {
public:
	FelixClientException() : std::runtime_error("felix-client") {}
	explicit FelixClientException(const std::string &text) : std::runtime_error(text) {}
};

// No publisher has the fid in time, or no receiver, or its queue is full.
class FelixClientResourceNotAvailableException : public FelixClientException {
public:
	using FelixClientException::FelixClientException;
};

// The message is larger than --max-message-bytes; it was not sent.
class FelixClientMessageTooBigException : public FelixClientException {
public:
	using FelixClientException::FelixClientException;
};

// The connection to the receiver is lost or refused.
class FelixClientSendConnectionException : public FelixClientException {
public:
	using FelixClientException::FelixClientException;
};

// Of several messages only the first were sent; what() says how many.
class FelixClientPartiallyCompletedException : public FelixClientException {
public:
	using FelixClientException::FelixClientException;
};

#endif
