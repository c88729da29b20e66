// Our schema must hold all of CrabTalk's, which was written down independently, with the same
// numbers and types.
#include <set>

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "crabtalk_reference.pb.h"
#include "protocol/protocol.h"

namespace reef::protocol {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

class Comparison {
 public:
  int fields = 0;

  void compare(const Descriptor* theirs, const Descriptor* ours, const std::string& path) {
    if (!seen_.insert(theirs->full_name() + "=" + ours->full_name()).second) return;
    for (int i = 0; i < theirs->field_count(); ++i) {
      const auto* field = theirs->field(i);
      const auto where = path + "." + field->name() + "=" + std::to_string(field->number());
      const auto* match = ours->FindFieldByNumber(field->number());
      ++fields;
      ASSERT_TRUE(match) << where << " is missing";
      EXPECT_EQ(field->type(), match->type()) << where;
      EXPECT_EQ(field->label(), match->label()) << where;
      EXPECT_EQ(field->is_map(), match->is_map()) << where;
      EXPECT_EQ(field->real_containing_oneof() != nullptr,
                match->real_containing_oneof() != nullptr)
          << where;
      const bool message = field->type() == FieldDescriptor::TYPE_MESSAGE;
      if (!message) {
        EXPECT_EQ(field->has_presence(), match->has_presence()) << where;
      }
      if (message && match->message_type())
        compare(field->message_type(), match->message_type(), where);
      if (field->enum_type() && match->enum_type())
        compare(field->enum_type(), match->enum_type(), where);
    }
    // Our own fields must not use CrabTalk's numbers.
    for (int i = 0; i < ours->field_count(); ++i) {
      const auto* field = ours->field(i);
      if (theirs->FindFieldByNumber(field->number())) continue;
      EXPECT_FALSE(theirs->IsReservedNumber(field->number()))
          << path << ": " << field->name() << " uses a reserved number";
      const bool request_id = field->name() == "request_id" && field->number() == 101;
      EXPECT_TRUE(field->number() >= 200 || request_id) << field->full_name();
    }
  }

  static void compare(const EnumDescriptor* theirs, const EnumDescriptor* ours,
                      const std::string& path) {
    for (int i = 0; i < theirs->value_count(); ++i) {
      const auto* match = ours->FindValueByNumber(theirs->value(i)->number());
      ASSERT_TRUE(match) << path << ": " << theirs->value(i)->name();
      EXPECT_EQ(theirs->value(i)->name(), match->name()) << path;
    }
    for (int i = 0; i < ours->value_count(); ++i) {
      const auto* value = ours->value(i);
      if (theirs->FindValueByNumber(value->number())) continue;
      EXPECT_GE(value->number(), 200) << value->full_name();
    }
  }

 private:
  std::set<std::string> seen_;
};

TEST(Schema, HasEveryMessageFieldAndNumberOfCrabTalk) {
  Comparison comparison;
  comparison.compare(crabtalk_reference::ClientMessage::descriptor(), ClientMessage::descriptor(),
                     "ClientMessage");
  comparison.compare(crabtalk_reference::ServerMessage::descriptor(), ServerMessage::descriptor(),
                     "ServerMessage");
  EXPECT_GT(comparison.fields, 150) << "the walk did not reach the schema";
}

TEST(Schema, ACrabTalkClientsBytesMeanTheSameToUs) {
  crabtalk_reference::ClientMessage theirs;
  theirs.mutable_stream()->set_agent("crab");
  theirs.mutable_stream()->set_content("hi");
  theirs.mutable_stream()->set_sender("tg:12");
  ClientMessage ours;
  ASSERT_TRUE(ours.ParseFromString(theirs.SerializeAsString()));
  EXPECT_EQ(ours.stream().agent(), "crab");
  EXPECT_EQ(ours.stream().sender(), "tg:12");
  EXPECT_FALSE(ours.has_request_id());
  EXPECT_EQ(operation_name(ours), "stream");
}

TEST(Protocol, OperationNamesComeFromTheSchema) {
  ClientMessage message;
  EXPECT_EQ(operation_name(message), "");
  message.mutable_list_mcps();
  EXPECT_EQ(operation_name(message), "list_mcps");
}

}  // namespace
}  // namespace reef::protocol
